/** Why a value cannot travel, before its path in the whole value is known. */
export class ValueRefusal extends Error {
  override readonly name = "ValueRefusal";
  /** The object, function or symbol that cannot travel. */
  readonly culprit: WeakKey;
  /** What to do instead. */
  readonly fix: string;
  /** Path from the culprit to the actual obstacle, when other code found it. */
  readonly steps: readonly string[];

  /** The property that keeps the culprit from travelling, when it could travel without it. */
  key: string | symbol | undefined;
  /** Objects and functions that were not written yet, because what they need first was refused. */
  readonly holders: object[] = [];

  constructor(culprit: WeakKey, what: string, fix: string, steps: readonly string[] = [], cause?: unknown) {
    super(what, cause === undefined ? undefined : { cause });
    this.culprit = culprit;
    this.fix = fix;
    this.steps = steps;
  }
}

/** The refusal of a Proxy. */
export function proxyRefusal(value: object): ValueRefusal {
  return new ValueRefusal(
    value,
    "a Proxy cannot be looked into: it does not show its target",
    "Pass the object behind it, or a copy such as { ...proxy }.",
  );
}
