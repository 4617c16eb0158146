import { burn } from "./burn.mjs";

const operations = { add: (x, y) => x + y, echo: (value) => value, burn };

process.on("message", ([id, name, args]) => {
  process.send([id, operations[name](...args)]);
});
