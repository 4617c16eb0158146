/** How many times as fast (or as small) the subject is. */
export function ratioOf(subject, other, better) {
  return better === "more" ? subject / other : other / subject;
}

/** `achieved` and `target` are such that more is better. */
export function verdictOf(achieved, target) {
  if (achieved >= target) return "reached";
  return achieved >= target / 2 ? "within 2x" : "missed";
}

/** The figures of a point next to each other, the first contender being the one that is judged. */
export function judge(point, figures) {
  const subject = figures.get(point.contenders[0]).value;
  return point.contenders.map((name, i) => {
    const figure = figures.get(name);
    const row = { contender: name, ...figure };
    const goal = point.goals?.[name];
    if (goal !== undefined)
      Object.assign(row, { goal, verdict: verdictOf(ratioOf(figure.value, goal, point.better), 1) });
    if (i === 0) return row;
    const ratio = ratioOf(subject, figure.value, point.better);
    const target = point.targets?.[name];
    return { ...row, ratio, ...(target !== undefined && { target, verdict: verdictOf(ratio, target) }) };
  });
}
