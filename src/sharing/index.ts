export { isUsableHandle, type Shared, share } from "./share.ts";
export {
  contentOf,
  onContentGone,
  receivedContent,
  SHARED,
  SharedContent,
} from "./shared-content.ts";
