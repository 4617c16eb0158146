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

  @routine()
  async wrong() {
    return 1;
  }

  @routine
  async *stream(to: number): AsyncGenerator<string, boolean, number> {
    const sent: number = yield String(to);
    return sent > 0;
  }

  @routine({ prefetch: 4 })
  *sync(to: number) {
    for (let i = 0; i < to; i++) yield i;
  }

  @routine({ name: "generic" })
  async wrap<T>(value: T): Promise<{ value: T }> {
    return { value };
  }

  @routine
  withThis(this: Model): number {
    return this.weight;
  }

  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}
