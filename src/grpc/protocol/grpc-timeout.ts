/** Formats a duration in milliseconds for the `grpc-timeout` field, which holds at most 8 digits and a unit. */
export function formatGrpcTimeout(milliseconds: number): string {
  const whole = Math.max(1, Math.ceil(milliseconds));
  if (whole < 1e8) return `${whole}m`;
  const seconds = Math.ceil(whole / 1000);
  if (seconds < 1e8) return `${seconds}S`;
  return `${Math.min(99_999_999, Math.ceil(seconds / 3600))}H`;
}

const UNIT_MILLISECONDS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

/** Milliseconds in a `grpc-timeout` field; undefined when it is malformed. */
export function parseGrpcTimeout(field: string): number | undefined {
  const match = /^(\d{1,8})([HMSmun])$/.exec(field);
  const unit = UNIT_MILLISECONDS[match?.[2] ?? ""];
  return unit === undefined ? undefined : Number(match?.[1]) * unit;
}
