import { routine, shipping, WorkerPool } from "wool-ts";
import * as counter from "./counter.ts";
import describe, { connect, Gauge, inner, limit, live, next, register, setLive, table } from "./counter.ts";
import * as data from "./data.ts";
import defaults, { limits, reading, service } from "./data.ts";
import { bus, heard, tenant } from "./emitter.ts";
import { counting, nextByFacade, raise, Gauge as SameGauge, live as sameLive } from "./facade.ts";
import { counted, desk, isTicket, makeDesk, ticket } from "./shop.ts";

const sellAtDesk = routine((name: string) => desk.sell(name));
const office = makeDesk("office ");
const sellAtOffice = routine((name: string) => office(name));
const sellAt = routine((where: (name: string) => unknown, name: string) => where(name));
const check = routine((value: unknown) => [isTicket(value), isTicket(ticket(2))]);

const count = routine(() => next());
const countByFacade = routine(() => nextByFacade());
const countByNamespace = routine(() => counter.next() + limit);
const countByReexport = routine(() => counting.next());
const open = routine(() => connect().opened);
const tabulate = routine((value: number) => {
  register("a", value);
  return [table.get("a"), counter.table.get("a"), counter.table === table];
});
const change = routine((value: number) => {
  setLive(value);
  return [live, counter.live, counting.live];
});
const raiseIt = routine((value: number) => {
  raise(value);
  return [sameLive, live];
});
const make = routine((value: number) => {
  const gauge = new Gauge(value);
  return [gauge instanceof SameGauge, Gauge.made, counter.Gauge === Gauge];
});
const made = routine((value: number) => new Gauge(value));
const hit = routine(() => [inner.hit(), next() > 0]);
const say = routine((value: number) => describe(value));
// Nothing of the code of these modules is used: what they export is what it is here.
const read = routine(() => [limits.most, defaults.unit, reading, data.limits.most, data.limits === limits]);
const readAlone = routine(() => [data.limits.most, data.default.unit, data.reading]);
const serve = routine(() => [service.next(), service.next()]);
// An emitter is the worker's own, and so is what its listeners write to.
const hear = routine((value: number) => [bus.emit("value", value), heard.length]);
const within = routine((name: string) => tenant.run(name, () => tenant.getStore()));
const load = routine(async () => {
  const again = await import("./counter.ts");
  return [again.next() === next() - 1, again.table === table];
});

async function changeData(): Promise<object> {
  data.change(5);
  defaults.unit = "km";
  return { read: await read(), readAlone: await readAlone(), serve: [await serve(), await serve()] };
}

async function main(): Promise<void> {
  const pool = await WorkerPool.start({ size: 1 });
  try {
    const outcome = {
      count: [await count(), await count()],
      ways: [await countByFacade(), await countByNamespace(), await countByReexport()],
      open: [await open(), await open()],
      tabulate: [await tabulate(5), await tabulate(6)],
      change: [await change(7), await change(8)],
      raise: await raiseIt(9),
      make: [await make(1), await make(2)],
      made: (await made(3)) instanceof Gauge,
      hit: [await hit(), await hit()],
      say: await say(4),
      ...(await changeData()),
      hear: [await hear(1), await hear(2)],
      shop: [await sellAtDesk("a"), await sellAtOffice("b"), await sellAt(office, "c"), await sellAtDesk("d")],
      ticket: [...(await check(ticket(1))), isTicket(await routine(() => ticket(3))())],
      within: await within("a"),
      load: await load(),
      explained: [shipping.explain(next).by, shipping.explain(Gauge).by],
      here: [next(), table.size, live, Gauge.made, ...counted()],
    };
    process.stdout.write(`${JSON.stringify(outcome)}\n`);
  } finally {
    await pool.stop();
  }
}

void main();
