export { isUsableHandle, SHARED_VALUE, type Shared, share } from "./share.ts";
export {
  type ContentStore,
  contentOf,
  onContentGone,
  receivedContent,
  SHARED,
  SharedContent,
} from "./shared-content.ts";
