import { routine } from "wool-ts";
import { type Equal, type Expect, expectType, type IsAny } from "./expect-type.ts";

class Model {
  readonly weight = 2;

  @routine
  async predict(x: number[]): Promise<number> {
    return x.length * this.weight;
  }

  @routine({ timeout: 5_000 })
  static async load(name: string): Promise<Model> {
    return new Model(name);
  }

  @routine
  async *stream(to: number): AsyncGenerator<string, boolean, number> {
    const sent: number = yield String(to);
    return sent > 0;
  }

  @routine({ name: "generic" })
  async wrap<T>(value: T): Promise<{ value: T }> {
    return { value };
  }

  @routine
  async withThis(this: Model): Promise<number> {
    return this.weight;
  }

  @routine({ timeout: 5 })
  async withThisAndOptions(this: Model, by: number): Promise<number> {
    return this.weight * by;
  }

  @routine
  static async *numbers(this: typeof Model, to: number): AsyncGenerator<number> {
    for (let i = 0; i < to; i++) yield i;
  }

  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

// Methods keep their types, whatever decorates them.
declare const model: Model;
expectType<Promise<number>>()(model.predict([1]));
expectType<Promise<Model>>()(Model.load("a"));
expectType<AsyncGenerator<string, boolean, number>>()(model.stream(1));
expectType<Promise<{ value: string }>>()(model.wrap("a"));
expectType<Promise<number>>()(model.withThis());
expectType<Promise<number>>()(model.withThisAndOptions(2));
expectType<AsyncGenerator<number>>()(Model.numbers(2));
export type PredictIsTyped = Expect<Equal<IsAny<Model["predict"]>, false>>;
// @ts-expect-error -- an argument is of the wrong type
void model.predict("1");
// @ts-expect-error -- an argument is missing
void Model.load();

export class Wrong {
  // @ts-expect-error -- a field is not a method
  @routine
  field = 1;

  // @ts-expect-error -- an accessor is not a method
  @routine
  get accessor(): number {
    return 1;
  }

  // @ts-expect-error -- there is no such option
  @routine({ timeuot: 5 })
  async method(): Promise<void> {}

  // @ts-expect-error -- the method would give a promise, and its type says otherwise
  @routine
  sync(): number {
    return 1;
  }

  // @ts-expect-error -- the method would give an asynchronous generator, and its type says otherwise
  @routine({ prefetch: 4 })
  *syncGenerator(to: number): Generator<number> {
    for (let i = 0; i < to; i++) yield i;
  }

  // @ts-expect-error -- without options there are no parentheses
  @routine()
  async parentheses(): Promise<void> {}
}

// @ts-expect-error -- a class is not a method
@routine
export class NotAMethod {}
