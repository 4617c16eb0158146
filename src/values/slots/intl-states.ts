import { isDeepStrictEqual } from "node:util";
import { MalformedPayload } from "../bytes/index.ts";
import { ValueRefusal } from "../value-refusal.ts";
import type { InternalState } from "./internal-state.ts";
import { succeeds } from "./platform-class.ts";

/**
 * Classes whose instances are fully described by their resolved options. A payload holds the index in this list: only
 * append.
 */
export const INTL_CLASSES: readonly string[] = [
  "NumberFormat",
  "DateTimeFormat",
  "Collator",
  "PluralRules",
  "ListFormat",
  "RelativeTimeFormat",
  "Segmenter",
  "DisplayNames",
  "DurationFormat",
];

/** Options that resolving adds and that follow from the others. */
const DERIVED: ReadonlySet<string> = new Set(["locale", "pluralCategories", "hour12"]);

type Resolved = Record<string, unknown>;

/** Objects of `Intl`. They are made again from their resolved options. */
export const intlState: InternalState = {
  number: 17,
  is: (value): value is object => variantOf(value) >= 0,
  variant: variantOf,
  prototype: prototypeOf,
  writeShell(writer, value) {
    const variant = variantOf(value);
    const resolved = resolvedOf(variant, value);
    const twin = make(variant, resolved);
    if (twin === undefined || !isDeepStrictEqual(resolvedOf(variant, twin), resolved)) {
      const name = `Intl.${String(INTL_CLASSES[variant])}`;
      throw new ValueRefusal(
        value,
        `this ${name} cannot be made from its resolved options`,
        "Make it inside the routine.",
      );
    }
    writer.value(resolved);
  },
  readShell(reader, variant) {
    const resolved = reader.value();
    const made = isResolved(resolved) ? make(variant, resolved) : undefined;
    const name = `Intl.${String(INTL_CLASSES[variant])}`;
    if (made === undefined || !isResolved(resolved)) {
      throw new MalformedPayload(`the options of an ${name} in the payload are not valid`);
    }
    const here = resolvedOf(variant, made);
    const other = Object.keys(resolved).find((key) => !isDeepStrictEqual(here[key], resolved[key]));
    if (other !== undefined) {
      throw new MalformedPayload(
        `this Node.js cannot make an ${name} with ${other} ${JSON.stringify(resolved[other])}: it would have ` +
          `${JSON.stringify(here[other])}. Run caller and workers with the same version and locale data of Node.js.`,
      );
    }
    return made;
  },
  summary: () => undefined,
};

/** `Intl.Locale`s. */
export const localeState: InternalState<Intl.Locale> = {
  number: 18,
  is: (value): value is Intl.Locale => succeeds(() => Intl.Locale.prototype.toString.call(value)),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Intl.Locale.prototype : undefined),
  writeShell: (writer, locale) => writer.string(Intl.Locale.prototype.toString.call(locale)),
  readShell(reader) {
    const tag = reader.text();
    try {
      return new Intl.Locale(tag);
    } catch (error) {
      throw new MalformedPayload(`the payload holds an invalid locale: ${tag}`, { cause: error });
    }
  },
};

function prototypeOf(variant: number): object | undefined {
  const constructor: unknown = Reflect.get(Intl, INTL_CLASSES[variant] ?? "");
  return typeof constructor === "function" ? constructor.prototype : undefined;
}

function variantOf(value: object): number {
  return INTL_CLASSES.findIndex((_name, variant) => {
    const prototype = prototypeOf(variant);
    if (prototype === undefined || !Object.prototype.isPrototypeOf.call(prototype, value)) return false;
    return succeeds(() => resolvedOf(variant, value));
  });
}

function resolvedOf(variant: number, value: object): Resolved {
  const resolvedOptions: unknown = Reflect.get(prototypeOf(variant) ?? {}, "resolvedOptions");
  const resolved: unknown = typeof resolvedOptions === "function" ? Reflect.apply(resolvedOptions, value, []) : {};
  if (!isResolved(resolved)) throw new TypeError("the options cannot be resolved");
  // A copy, so that it is plain data in every engine.
  return { ...resolved };
}

function make(variant: number, resolved: Resolved): object | undefined {
  const constructor: unknown = Reflect.get(Intl, INTL_CLASSES[variant] ?? "");
  if (typeof constructor !== "function") return undefined;
  const options = Object.fromEntries(Object.entries(resolved).filter(([key]) => !DERIVED.has(key)));
  try {
    return Reflect.construct(constructor, [resolved["locale"], options]);
  } catch {
    return undefined;
  }
}

function isResolved(value: unknown): value is Resolved {
  return typeof value === "object" && value !== null;
}
