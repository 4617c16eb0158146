/** How the contenders, modules of this folder, are called in the report. */
export const labels = {
  wool: "wool-ts",
  "wool-worker": "wool-ts, one worker",
  piscina: "Piscina",
  "piscina-tuned": "Piscina, 50 per thread",
  grpc: "grpc-js",
  ipc: "child_process",
  "ipc-advanced": "child_process, advanced",
  "bare-node": "node -e 0",
};
