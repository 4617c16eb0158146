/** A caller, as far as sessions can be told to be of the same. */
export interface Party {
  readonly name: string;
  /** How many sessions it has. */
  sessions: number;
}

/** The callers that have sessions in a task thread. */
export class Parties {
  readonly #parties = new Map<string, Party>();

  /** The party of this name, with one more session. */
  join(name: string): Party {
    const party = this.#parties.get(name) ?? { name, sessions: 0 };
    party.sessions++;
    this.#parties.set(name, party);
    return party;
  }

  /** A session of a party is over. */
  leave(party: Party): void {
    if (--party.sessions === 0) this.#parties.delete(party.name);
  }
}
