import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Gives a test file a folder for notes of its workers, removed in the end. Each call makes an empty file there. */
export function useNoteFiles(): () => string {
  const folder = mkdtempSync(join(tmpdir(), "wool-notes-"));
  let made = 0;
  afterAll(() => rmSync(folder, { recursive: true }));
  return () => {
    const file = join(folder, String(++made));
    writeFileSync(file, "");
    return file;
  };
}

export const textOf = (file: string): string => readFileSync(file, "utf8");
