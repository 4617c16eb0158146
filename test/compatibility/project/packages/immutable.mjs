import { fromJS, Map as ImmutableMap, Set as ImmutableSet, is, List, OrderedMap, Record } from "immutable";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const Point = Record({ x: 0, y: 0 });
const state = ImmutableMap({ a: 1, list: List([1, 2]) });
const point = Point({ x: 3 });
const doubled = List([1, 2, 3])
  .toSeq()
  .map((x) => x * 2);

void check({
  binding: () => routine(() => ImmutableMap({ a: 1 }).set("b", 2).toJS())(),
  instance: () => routine(() => state.setIn(["list", 0], 5).toJS())(),
  record: () => routine(() => point.set("y", 4).toJS())(),
  lazy: () => routine(() => doubled.toArray())(),
  argument: () => routine((it) => [ImmutableMap.isMap(it), it.get("list").push(9).toJS(), is(it, it.merge({}))])(state),
  result: async () => {
    const made = await routine(() => fromJS({ a: { b: [1] } }))();
    return [made instanceof ImmutableMap, is(made, fromJS({ a: { b: [1] } })), made.getIn(["a", "b", 0])];
  },
  "record in a result": async () => {
    const made = await routine(() => Point({ y: 2 }))();
    return [made instanceof Point, is(made, Point({ y: 2 })), made.toJS()];
  },
  changed: async () => is(await routine((it) => it.add(3))(ImmutableSet([1, 2])), ImmutableSet([1, 2, 3])),
  empty: async () => {
    const empties = [ImmutableMap(), List(), OrderedMap(), ImmutableSet()];
    const equal = await routine((them) => {
      const own = [ImmutableMap(), List(), OrderedMap(), ImmutableSet()];
      return them.map((it, index) => [
        is(it, own[index]),
        it.isEmpty(),
        it.concat(own[index]).size,
        it.equals(it.clear()),
      ]);
    })(empties);
    const back = await routine(() => [ImmutableMap().set("a", 1), List().push(1), OrderedMap()])();
    return [equal, back.map((it) => it.toJS()), is(back[2], OrderedMap())];
  },
  removed: async () => (await routine((it) => it.delete("a"))(OrderedMap({ a: 1, b: 2 }))).toJS(),
  thrown: async () => (await reasonOf(routine(() => state.setIn(["a", "b"], 1))())).message,
});
