import rrule from "rrule";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const { RRule, RRuleSet } = rrule;
const start = new Date(Date.UTC(2024, 0, 1));
const mondays = new RRule({ freq: RRule.WEEKLY, count: 3, byweekday: [RRule.MO], dtstart: start });
const look = (it) => [it instanceof RRule, it.toString(), it.all(), it.origOptions.byweekday[0] === RRule.MO];

void check({
  binding: () => routine(() => new RRule({ freq: RRule.DAILY, count: 2, dtstart: start }).all())(),
  instance: () => routine(() => look(mondays))(),
  argument: () => routine((it) => look(it))(mondays),
  "constant as an argument": () => routine((it) => it === RRule.TU)(RRule.TU),
  result: async () => {
    const set = await routine(() => {
      const made = new RRuleSet();
      made.rrule(mondays);
      return made;
    })();
    return [set instanceof RRuleSet, set.all()];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => RRule.fromString("FREQ=SOMETIMES;X=1"))());
    return [error instanceof Error, error.message];
  },
});
