/** How the contenders, modules of this folder, are called in the report. */
export const labels = {
  wool: "wool-ts",
  "wool-worker": "wool-ts, one worker",
  "wool-reference": "imported by workers",
  "wool-tier-0": "wool-ts, constants",
  "wool-tier-1": "wool-ts, an object",
  "wool-tier-2": "wool-ts, a variable",
  "wool-captures": "wool-ts",
  awaits: "never shipped anything",
  "awaits-after-capture": "wool-ts, afterwards",
  piscina: "Piscina",
  "piscina-tuned": "Piscina, 50 per thread",
  grpc: "grpc-js",
  ipc: "child_process",
  "ipc-advanced": "child_process, advanced",
  "bare-node": "node -e 0",
};
