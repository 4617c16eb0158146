const { routine, WorkerPool } = require("wool-ts");
const lodash = require("lodash");
const api = require("./api");
const Stack = require("./stack");
const shared = require("./instance");
const lazy = require("./lazy");
const only = require("./only");
const { Account } = require("./account");
const {
  double,
  state: { hits },
} = require("./api");
const nested = { api };
const account = new Account(5);
const readBalance = routine((it) => [it.balance, it instanceof Account]);

const cases = {
  api: routine(() => [api.double(2), api.count(), api.count(), api.name]),
  whole: routine(() => Object.keys(api)),
  destructured: routine(() => [double(4), hits.length]),
  nested: routine(() => nested.api.double(3)),
  class: routine(() => new Stack().push(1).size),
  instance: routine(() => [shared.push(5).size, shared instanceof Stack]),
  lazy: routine(() => [lazy.answer(), typeof lazy.parse, lazy.parse("[1]")]),
  only: routine(() => [only(3), only.version]),
  package: routine(() => [lodash.chunk([1, 2, 3], 2), typeof lodash.VERSION]),
  private: async () => [await readBalance(account), await routine(() => account.balance)()],
  "private, made there": async () => (await routine(() => new Account(7))()).balance,
  inside: routine(() => {
    const again = require("./api");
    return [again === api, again.double(5)];
  }),
};

async function main() {
  const pool = await WorkerPool.start({ size: 1 });
  try {
    const outcome = {};
    for (const [name, run] of Object.entries(cases)) outcome[name] = await run();
    process.stdout.write(`${JSON.stringify(outcome)}\n`);
  } finally {
    await pool.stop();
  }
}

void main();
