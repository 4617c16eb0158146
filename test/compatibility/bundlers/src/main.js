import { run } from "./run.js";

run().then(
  (outcome) => console.log(JSON.stringify(outcome)),
  (error) => {
    console.error(error);
    process.exitCode = 1;
  },
);
