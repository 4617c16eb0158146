/**
 * Field numbers of `proto/wool/v1/worker.proto`, as the hand-written codec needs them.
 * A test compares them with the generated descriptors.
 */
export const RequestField = {
  hello: 1,
  task: 2,
  step: 3,
  cancel: 4,
  credit: 5,
  chunk: 6,
  route: 7,
  dependency: 8,
  pool: 9,
  abort: 10,
  shared: 11,
  dropped: 12,
  unwanted: 13,
} as const;

export const ResponseField = {
  welcome: 1,
  accepted: 2,
  rejected: 3,
  result: 4,
  yielded: 5,
  raised: 6,
  chunk: 7,
  dependency: 8,
  executorLost: 9,
  pace: 10,
  wanted: 11,
} as const;

/** The highest frame number of a request. */
export const LAST_REQUEST_FIELD = RequestField.unwanted;
/** The highest frame number of a response. */
export const LAST_RESPONSE_FIELD = ResponseField.wanted;

export const StepKind = { next: 1, throw: 2, return: 3 } as const;
export type StepKind = (typeof StepKind)[keyof typeof StepKind];
