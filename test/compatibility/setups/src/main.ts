import { run } from "./program.ts";

run().then((result) => console.log(JSON.stringify(result)));
