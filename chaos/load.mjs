import { CALL_KINDS } from "./call-kinds.mjs";
import { Random } from "./random.mjs";
import { pause } from "./until.mjs";

/** Clients of each group: each makes one call after the other. */
const CLIENTS_PER_GROUP = 7;
/** Longest time that a client waits after a failure, in milliseconds. */
const FAILURE_PAUSE_MS = 50;

/** Makes calls of all kinds to groups of workers until it is told to stop. */
export class Load {
  #log;
  #folder;
  #seed;
  #state = "running";
  #clients = [];

  constructor(log, folder, seed) {
    this.#log = log;
    this.#folder = folder;
    this.#seed = seed;
  }

  start(groups) {
    for (const group of groups) {
      for (let i = 0; i < CLIENTS_PER_GROUP; i++) {
        this.#clients.push(this.#client(group, new Random(this.#seed, `client ${group.name} ${i}`)));
      }
    }
  }

  /** Makes one call of each kind to each pool and proxy of a group. */
  async tryEverything(group) {
    const random = new Random(this.#seed, `warm-up ${group.name}`);
    for (const via of group.dispatchers) {
      for (const kind of CALL_KINDS) await this.#call(kind, group, via, random);
    }
  }

  /** Stops making calls. Resolves when all have ended, which may be never. */
  async end() {
    this.#state = "ending";
    await Promise.all(this.#clients);
  }

  async #client(group, random) {
    while (this.#state === "running") {
      const kind = random.pickWeighted(CALL_KINDS);
      const via = random.pick(group.dispatchers);
      const fine = await this.#call(kind, group, via, random);
      await pause(random.integer(0, fine ? 20 : FAILURE_PAUSE_MS));
    }
  }

  async #call(kind, group, via, random) {
    if (kind.pools && via.map === undefined) return true;
    return await this.#log.record({ ...kind, group: group.name }, (token, waitFor) =>
      kind.run({ token, folder: this.#folder, via, random, waitFor }),
    );
  }
}
