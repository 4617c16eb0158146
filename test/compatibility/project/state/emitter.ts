import { EventEmitter } from "node:events";

export const bus = new EventEmitter();
export const heard: number[] = [];

bus.on("value", (value: number) => heard.push(value));
