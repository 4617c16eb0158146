import { Intended } from "./tasks.mjs";

/** Errors that a cancelled call may end with. */
export class Abandoned extends Error {}

/** Keeps a record of calls: running calls in memory, ended ones in the journal. */
export class CallLog {
  #journal;
  #pending = new Map();
  #count = 0;

  constructor(journal) {
    this.#journal = journal;
  }

  get underWay() {
    return this.#pending.size;
  }

  /**
   * Makes a call and records its outcome; never rejects. `body` gets the call's token and a function that sets what it
   * waits for, and resolves with `{ ran, closes, wrong }`. Returns whether the outcome was expected.
   */
  async record({ kind, group, bound, expected = ["ok"], idempotent = false }, body) {
    const token = `${kind}-${(++this.#count).toString(36)}`;
    const entry = { token, kind, group, start: now(), bound, idempotent, expected };
    this.#pending.set(token, { ...entry, waitingFor: "an answer" });
    const waitFor = (what) => {
      this.#pending.get(token).waitingFor = what;
    };
    let result;
    try {
      result = { outcome: "ok", ...(await body(token, waitFor)) };
    } catch (error) {
      result = classify(error, token);
    }
    if (result.outcome === "ok" && !expected.includes("ok")) result.wrong ??= "it succeeded";
    this.#pending.delete(token);
    this.#journal.add("call", { ...entry, end: now(), ...result });
    return expected.includes(result.outcome);
  }

  /** Records the calls that never ended. */
  giveUp() {
    for (const entry of this.#pending.values()) this.#journal.add("pending", entry);
  }
}

/** Milliseconds since the run began. */
export function now() {
  return Math.round(performance.now());
}

function classify(error, token) {
  if (error instanceof Intended) {
    const wrong = error.token === token ? undefined : `it threw the error of ${error.token}`;
    return { outcome: "Intended", ran: [token], wrong };
  }
  const outcome = error instanceof Abandoned ? "Abandoned" : (error?.name ?? typeof error);
  return { outcome, message: String(error?.message ?? error).slice(0, 500) };
}
