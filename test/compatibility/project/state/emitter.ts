import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter } from "node:events";

export const bus = new EventEmitter();
export const tenant = new AsyncLocalStorage<string>();
export const heard: number[] = [];

bus.on("value", (value: number) => heard.push(value));
