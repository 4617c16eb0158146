export { OutcomeSender } from "./outcome-sender.ts";
