import { autorun, makeAutoObservable, observable, runInAction } from "mobx";
import { routine } from "wool-ts";
import { check } from "../check.mjs";

class Store {
  count = 1;
  constructor() {
    makeAutoObservable(this);
  }
  get double() {
    return this.count * 2;
  }
}
const store = new Store();
const data = observable({ a: 1 });

void check({
  binding: () =>
    routine(() => {
      const own = observable({ n: 1 });
      const seen = [];
      const stop = autorun(() => seen.push(own.n));
      runInAction(() => {
        own.n = 5;
      });
      stop();
      return seen;
    })(),
  instance: () => routine(() => store.double)(),
  argument: () => routine((it) => it.double)(store),
  observable: () => routine(() => data.a)(),
});
