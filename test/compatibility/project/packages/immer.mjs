import { createDraft, finishDraft, Immer, produce } from "immer";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const state = produce({ list: [1] }, (draft) => {
  draft.list.push(2);
});
const push = produce((draft, n) => {
  draft.push(n);
});
const own = new Immer({ autoFreeze: false });

void check({
  binding: () => routine(() => finishDraft(createDraft({ a: 1 })))(),
  instance: () => routine(() => produce(state, (draft) => void draft.list.push(3)).list)(),
  argument: () => routine((it) => [Object.isFrozen(it), it.list])(state),
  curried: () => routine(() => push([1], 2))(),
  "own instance": () => routine(() => own.produce([1], (draft) => void draft.push(2)))(),
  result: () => routine(() => produce({ a: 1 }, (draft) => void (draft.a = 2)))(),
  thrown: async () => (await reasonOf(routine(() => produce(1, 2))())).message,
});
