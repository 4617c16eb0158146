/** Notes that tasks leave in their thread for the test to read, and doors that tasks wait at. */
interface Notes {
  readonly lines: Map<string, unknown[]>;
  readonly doors: Map<string, { readonly opened: Promise<void>; readonly open: () => void }>;
}

function notes(): Notes {
  const holder = globalThis as { woolTestNotes?: Notes };
  holder.woolTestNotes ??= { lines: new Map(), doors: new Map() };
  return holder.woolTestNotes;
}

/** For tasks: writes down that something happened. */
export function note(key: string, line: unknown): void {
  const { lines } = notes();
  const known = lines.get(key);
  if (known === undefined) lines.set(key, [line]);
  else known.push(line);
}

/** For tasks: what was written down in this thread. */
export function notesOf(key: string): unknown[] {
  return notes().lines.get(key) ?? [];
}

function door(key: string): { readonly opened: Promise<void>; readonly open: () => void } {
  const { doors } = notes();
  let found = doors.get(key);
  if (found === undefined) {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    found = { opened, open };
    doors.set(key, found);
  }
  return found;
}

/** For tasks: waits until some task of this thread opens the door. */
export function waitAtDoor(key: string): Promise<void> {
  return door(key).opened;
}

/** For tasks: lets through every task that waits at the door, now or later. */
export function openDoor(key: string): void {
  door(key).open();
}
