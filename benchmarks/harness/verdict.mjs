import { pairedRatio } from "./statistics.mjs";

/** How many times as fast (or as small) the subject is. */
export function ratioOf(subject, other, better) {
  return better === "more" ? subject / other : other / subject;
}

/** The rows that show that something has become much slower, regardless of other load on the machine. */
export function brokenFloors(rows) {
  return rows.filter(({ best, floor }) => floor !== undefined && best < floor);
}

/** Other programs only make things slower, so the best round shows best what a contender can do. */
function bestOf({ rounds }, better) {
  return better === "more" ? Math.max(...rounds) : Math.min(...rounds);
}

/** For `achieved` and `target`, more is better. */
export function verdictOf(achieved, target) {
  if (achieved >= target) return "reached";
  return achieved >= target / 2 ? "within 2x" : "missed";
}

/** If the ratio is only known as an interval, a target inside it is neither reached nor missed. */
function intervalVerdict([low, high], target) {
  if (low >= target) return "reached";
  return high < target ? "missed" : "undecided";
}

/** A ratio of figures that were measured in pairs. */
function judgePairs(point, subject, figure, target) {
  const [judged, other] = point.better === "more" ? [subject, figure] : [figure, subject];
  const paired = pairedRatio(judged.rounds, other.rounds);
  return { ...paired, ...(target !== undefined && { target, verdict: intervalVerdict(paired.interval, target) }) };
}

/** The figures of a point next to each other, the first contender is the one that is judged. */
export function judge(point, figures) {
  const judged = figures.get(point.contenders[0]);
  const subject = judged.value;
  return point.contenders.map((name, i) => {
    const figure = figures.get(name);
    const row = { contender: name, ...figure };
    const goal = point.goals?.[name];
    if (goal !== undefined)
      Object.assign(row, { goal, verdict: verdictOf(ratioOf(figure.value, goal, point.better), 1) });
    if (i === 0) return row;
    if (point.inside !== undefined) return { ...row, ...judgePairs(point, judged, figure, point.targets?.[name]) };
    const ratio = ratioOf(subject, figure.value, point.better);
    const target = point.targets?.[name];
    const best = (other) => ratioOf(bestOf(judged, point.better), bestOf(other, point.better), point.better);
    const floor = point.floors?.[name];
    return {
      ...row,
      ratio,
      ...(floor !== undefined && { floor, best: best(figure) }),
      ...(target !== undefined && { target, verdict: verdictOf(ratio, target) }),
    };
  });
}
