/** Node's own stripping of types cannot load an enum. */
export enum Level {
  Low = 1,
  High = 10,
}

let raised = 0;

export function raise(level: Level): string {
  raised += level;
  return `${Level[level]} ${raised}`;
}
