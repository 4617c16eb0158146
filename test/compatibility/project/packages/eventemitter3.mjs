import EventEmitter from "eventemitter3";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const seen = [];
const emitter = new EventEmitter();
emitter.on("item", (n) => seen.push(n));
class Counter extends EventEmitter {
  count = 0;
  add() {
    this.count += 1;
    this.emit("count", this.count);
    return this;
  }
}
const counter = new Counter();

void check({
  binding: () =>
    routine(() => {
      const own = new EventEmitter();
      const got = [];
      own.once("a", (n) => got.push(n));
      own.emit("a", 1);
      own.emit("a", 2);
      return got;
    })(),
  instance: () =>
    routine(() => {
      seen.length = 0;
      return [emitter.emit("item", 1), emitter.listenerCount("item"), emitter.eventNames(), [...seen]];
    })(),
  subclass: () =>
    routine(() => {
      const got = [];
      counter.on("count", (n) => got.push(n));
      const { count } = counter.add();
      counter.count = 0;
      counter.removeAllListeners();
      return [got, count];
    })(),
  argument: () => routine((it) => [it instanceof EventEmitter, it.listenerCount("item")])(emitter),
  result: async () => {
    const made = await routine(() => new EventEmitter().on("a", (n) => n * 2))();
    return [made instanceof EventEmitter, made.listeners("a")[0](4)];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => new EventEmitter().on("a", 5))());
    return [error instanceof TypeError, error.message];
  },
});
