import { load } from "cheerio";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const $ = load("<ul><li>a</li><li>b</li></ul>");
const items = $("li");

void check({
  binding: () => routine(() => load("<p>x</p>")("p").text())(),
  instance: () => routine(() => $("li").length)(),
  selection: () => routine(() => items.map((_, each) => $(each).text()).get())(),
  argument: () => routine((it) => it.html())($),
  result: async () => (await routine(() => load("<p>x</p>")("p").html())()) ?? "nothing",
  thrown: async () => (await reasonOf(routine(() => load("<p></p>")("p[").length)())).message,
});
