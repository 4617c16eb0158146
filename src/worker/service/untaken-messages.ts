import { FrameReader, LAST_REQUEST_FIELD, RequestField, TaskField } from "../../wire/index.ts";

interface UntakenMessage {
  readonly session: number;
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
  /** Weight of what the thread had been handed then, this message included. */
  readonly posted: number;
}

/** Messages that a task thread may not have taken in yet: if it ends, their tasks were not run. */
export class UntakenMessages {
  readonly #messages: UntakenMessage[] = [];

  /**
   * @param posted - weight of what the thread has been handed so far, this message included; wraps around
   * @param consumed - weight of what it has taken in; wraps around
   */
  add(session: number, buffer: Buffer, start: number, end: number, posted: number, consumed: number): void {
    this.#forget(consumed);
    this.#messages.push({ session, buffer, start, end, posted });
  }

  /** The ids of the tasks in messages that were not taken in, by session. */
  taskIds(consumed: number): Map<number, number[]> {
    this.#forget(consumed);
    const ids = new Map<number, number[]>();
    const reader = new FrameReader(LAST_REQUEST_FIELD);
    for (const { session, buffer, start, end } of this.#messages) {
      const list = ids.get(session) ?? [];
      ids.set(session, list);
      reader.open(buffer, start, end);
      try {
        for (let kind = reader.next(); kind !== 0; kind = reader.next()) {
          if (kind === RequestField.task) list.push(reader.integer(TaskField.id));
        }
      } catch {
        // The rest of a message that cannot be read holds no tasks.
      }
    }
    return ids;
  }

  #forget(consumed: number): void {
    const messages = this.#messages;
    let taken = 0;
    while (taken < messages.length && ((consumed - (messages[taken]?.posted ?? 0)) | 0) >= 0) taken++;
    if (taken > 0) messages.splice(0, taken);
  }
}
