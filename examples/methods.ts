// Methods as routines, in TypeScript. Run it with: npx tsx examples/methods.ts
// Prints:
//   mean 3, spread 2
//   made by parse: mean 20
//   rejected: SampleError, 0 numbers
import { routine, WorkerPool } from "wool-ts";

class SampleError extends Error {
  readonly size: number;

  constructor(size: number) {
    super(`a sample needs numbers, and has ${size}`);
    this.size = size;
  }
}

class Sample {
  private readonly numbers: readonly number[];

  constructor(numbers: readonly number[]) {
    this.numbers = numbers;
  }

  // The object travels with the call, and the class with it.
  @routine
  async describe(): Promise<{ mean: number; spread: number }> {
    if (this.numbers.length === 0) throw new SampleError(0);
    const mean = this.numbers.reduce((sum, number) => sum + number, 0) / this.numbers.length;
    return { mean, spread: Math.max(...this.numbers.map((number) => Math.abs(number - mean))) };
  }

  @routine({ timeout: 5_000 })
  static async parse(text: string): Promise<Sample> {
    return new Sample(text.split(" ").map(Number));
  }
}

const pool = await WorkerPool.start({ size: 2 });
try {
  const { mean, spread } = await new Sample([1, 2, 3, 4, 5]).describe();
  console.log(`mean ${mean}, spread ${spread}`);

  // The result is a Sample, made by the class of this process.
  const sample = await Sample.parse("10 20 30");
  console.log(`made by parse: mean ${(await sample.describe()).mean}`);

  await new Sample([]).describe().catch((error: unknown) => {
    if (error instanceof SampleError) console.log(`rejected: ${error.constructor.name}, ${error.size} numbers`);
  });
} finally {
  await pool.stop();
}
