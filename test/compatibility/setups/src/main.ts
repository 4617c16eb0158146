import { run } from "./program.ts";

void run().then((result) => console.log(JSON.stringify(result)));
