import { LRUCache } from "lru-cache";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const cache = new LRUCache({ max: 2 });
cache.set("a", 1);

void check({
  binding: () =>
    routine(() => {
      const own = new LRUCache({ max: 2 });
      for (const [index, key] of ["a", "b", "c"].entries()) own.set(key, index);
      return [...own.entries()];
    })(),
  instance: () => routine(() => cache.get("a"))(),
  argument: () => routine((it) => it.get("a"))(cache),
  data: () =>
    routine((entries) => {
      const own = new LRUCache({ max: 2 });
      own.load(entries);
      return own.get("a");
    })(cache.dump()),
  result: async () => (await routine(() => new LRUCache({ max: 3 }))()).max,
  thrown: async () => {
    const error = await reasonOf(routine(() => new LRUCache({ max: -1 }))());
    return [error instanceof TypeError, error.message];
  },
});
