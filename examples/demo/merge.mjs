/** Yields the values of several async generators as they come. Leaving it returns them all. */
export async function* merge(generators) {
  const ask = (generator) => generator.next().then((step) => ({ generator, step }));
  const steps = new Map(generators.map((generator) => [generator, ask(generator)]));
  try {
    while (steps.size > 0) {
      const { generator, step } = await Promise.race(steps.values());
      if (step.done) steps.delete(generator);
      else {
        steps.set(generator, ask(generator));
        yield step.value;
      }
    }
  } finally {
    await Promise.all(generators.map((generator) => generator.return()));
  }
}
