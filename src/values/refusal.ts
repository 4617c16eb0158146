/** Why a value cannot travel, before it is known where in the whole value it sits. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  /** The object, function or symbol that cannot travel. */
  readonly culprit: WeakKey;
  /** What to do instead. */
  readonly fix: string;
  /** Steps from the culprit to the very thing in the way, when someone else found it. */
  readonly steps: readonly string[];

  /** The property of the culprit that is in the way, when it could travel without. */
  key: string | symbol | undefined;

  constructor(culprit: WeakKey, what: string, fix: string, steps: readonly string[] = [], cause?: unknown) {
    super(what, cause === undefined ? undefined : { cause });
    this.culprit = culprit;
    this.fix = fix;
    this.steps = steps;
  }
}
