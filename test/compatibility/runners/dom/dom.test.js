import { routine, SerializationError, TaskTimeout, WorkerPool } from "wool-ts";
import { OutOfStock, priceOf } from "./shop.js";

/** In an environment with a DOM, which replaces globals of Node.js by its own. */

let pool;
beforeAll(async () => {
  pool = await WorkerPool.start({ size: 1 });
});
afterAll(() => pool.stop());

class Basket {
  items = ["tea", "milk"];
}

test("the environment has a DOM", () => {
  expect(document.createElement("p").tagName).toBe("P");
});

test("a call runs in another process", async () => {
  const [count, pid] = await routine(async (basket) => [basket.items.length, process.pid])(new Basket());
  expect(count).toBe(2);
  expect(pid).not.toBe(process.pid);
  const back = await routine(async (basket) => basket)(new Basket());
  expect(back).toBeInstanceOf(Basket);
  expect(await routine(async (bytes) => bytes.length)(new Uint8Array(300_000))).toBe(300_000);
});

test("an error keeps its class", async () => {
  await expect(routine(async () => priceOf("salt"))()).rejects.toBeInstanceOf(OutOfStock);
  const wait = routine(() => new Promise(() => undefined)).with({ timeout: 50 });
  await expect(wait()).rejects.toBeInstanceOf(TaskTimeout);
});

test("signals of the DOM cancel calls and reach tasks", async () => {
  const controller = new AbortController();
  const wait = routine(() => new Promise(() => undefined)).with({ signal: controller.signal });
  const call = wait();
  controller.abort();
  await expect(call).rejects.toMatchObject({ name: "AbortError" });
  const live = new AbortController();
  const follow = routine(async function* (signal) {
    yield signal.aborted;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield signal.aborted;
  });
  const seen = [];
  for await (const aborted of follow(live.signal)) {
    seen.push(aborted);
    live.abort();
  }
  expect(seen).toEqual([false, true]);
});

test("an object of the DOM is refused", async () => {
  const call = routine(async (given) => typeof given)(document.createElement("p"));
  await expect(call).rejects.toBeInstanceOf(SerializationError);
});
