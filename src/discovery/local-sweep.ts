import { join } from "node:path";
import { runtimeDirectory } from "../host/index.ts";
import { isNamespaceFolder } from "./local-entry.ts";
import { listFiles, readLiveEntries, removeEmptyDirectory } from "./local-entry-files.ts";

let sweptRoot: string | undefined;

/** Removes what dead processes left in the local namespaces of this user: once per process, and never fails. */
export function sweepLocalNamespacesOnce(): void {
  try {
    const root = runtimeDirectory();
    if (sweptRoot === root) return;
    sweptRoot = root;
    for (const folder of listFiles(root).filter(isNamespaceFolder)) sweepNamespace(join(root, folder));
  } catch {
    // Tidying up is a courtesy: whoever needs the directory learns what is wrong with it.
  }
}

function sweepNamespace(directory: string): void {
  readLiveEntries(directory);
  removeEmptyDirectory(directory);
}
