import { describeValue } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { jsonSerializer } from "../values/index.ts";
import type { RoutineOptions } from "./options.ts";
import { nextRouteNumber, type Route } from "./route.ts";
import { RoutineSpec } from "./routine-spec.ts";

/** The language of this runtime, in which targets take any value. */
const OWN_LANGUAGE = "node";
const TARGET = /^(?<language>[a-z][a-z0-9+-]*):(?<rest>.+)$/s;

/** The part of a target routine that travels besides its options. */
export interface TargetFacts {
  readonly target: string;
  readonly streams: boolean;
}

/** A routine whose function workers have: it travels by name, and no code does. */
export class TargetSpec extends RoutineSpec {
  readonly facts: TargetFacts;
  readonly #language: string;
  #named: Route | undefined;

  /** Throws `InvalidArgument` for a target that names no language. */
  constructor(facts: TargetFacts, options: RoutineOptions) {
    const { target, streams } = facts;
    const language = languageOf(target);
    for (const option of ["serializer", "ship"] as const) {
      if (options[option] !== undefined) {
        throw new InvalidArgument(`${target}: option "${option}" is for routines whose code travels; leave it out`);
      }
    }
    const serializer = language === OWN_LANGUAGE ? {} : { serializer: jsonSerializer };
    super(
      streams ? streamNotHere(target) : notHere(target),
      { ...options, name: options.name ?? target, ...serializer },
      false,
    );
    this.facts = facts;
    this.#language = language;
  }

  /** Its options, as they travel. */
  get ownOptions(): RoutineOptions {
    const { serializer: _json, ...own } = this.options;
    return own;
  }

  override derive(options: RoutineOptions): RoutineSpec {
    return new TargetSpec(this.facts, { ...this.ownOptions, ...options });
  }

  override route(): Route {
    this.#named ??= {
      number: nextRouteNumber(),
      name: this.name,
      code: new Uint8Array(0),
      dependencies: [],
      weak: [],
      streams: this.streams,
      method: false,
      serializer: undefined,
      fresh: false,
      replaces: 0,
      target: this.facts.target,
      language: this.#language,
      ...(this.#language === OWN_LANGUAGE ? {} : { encoding: "json" }),
    };
    return this.#named;
  }
}

function languageOf(target: unknown): string {
  const language = typeof target === "string" ? TARGET.exec(target)?.groups?.["language"] : undefined;
  if (language !== undefined) return language;
  throw new InvalidArgument(
    `routine.at() takes the name of a function on workers, such as "py:package.module:function" or ` +
      `"node:./file.mjs#function", not ${describeValue(target)}`,
  );
}

function notHere(target: string): () => never {
  return () => {
    throw new InvalidArgument(
      `${target} is a function that workers have, and there is no pool to call it through: start one whose workers run it`,
    );
  };
}

function streamNotHere(target: string): () => Generator<never> {
  const refuse = notHere(target);
  return function* () {
    yield refuse();
  };
}
