import { availableParallelism, cpus, loadavg, platform, release } from "node:os";

/** What the figures depend on besides the code. */
export function describeMachine() {
  return {
    node: process.version,
    platform: `${platform()} ${release()}`,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    load: loadavg()[0],
  };
}

export function machineLines(machine) {
  const lines = [
    `Node ${machine.node}, ${machine.platform}, ${machine.cores} cores (${machine.cpu}), load average ${machine.load.toFixed(2)}`,
  ];
  if (machine.load > machine.cores / 4) {
    lines.push("WARNING: the machine is busy with something else; ratios are rough, absolute figures mean little");
  }
  return lines;
}
