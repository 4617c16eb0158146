// A process that has one discovery of a registry: `keep` workers in it, or let some join and leave.

import { someWorker } from "../../test/support/follow.ts";
import { cpuTimeOf } from "../harness/cpu-time.mjs";
import { median } from "../harness/statistics.mjs";
import { kinds } from "./registry-kinds.mjs";

process.removeAllListeners("warning");
process.on("warning", () => undefined);

const [kind, where] = process.argv.slice(2);
const { open, openBare, together = 1 } = kinds[kind];
const worker = (uid) => ({
  ...someWorker(uid, `10.1.${uid.length}.${uid.charCodeAt(uid.length - 1)}:7001`),
  pid: process.pid,
});

/** The known workers, and promises for those that are to come or to go. */
class Presence {
  #there = new Set();
  #waiting = new Map();

  tell(uid, isThere) {
    if (isThere) this.#there.add(uid);
    else this.#there.delete(uid);
    if (this.#waiting.get(uid)?.isThere !== isThere) return;
    this.#waiting.get(uid).resolve();
    this.#waiting.delete(uid);
  }

  get size() {
    return this.#there.size;
  }

  async until(uid, isThere) {
    if (this.#there.has(uid) === isThere) return;
    await new Promise((resolve) => this.#waiting.set(uid, { isThere, resolve }));
  }
}

/** A discovery to publish with, and another one that follows it. */
async function openDiscovery(group) {
  const [publisher, subscriber] = [open(where, group), open(where, group)];
  const presence = new Presence();
  void (async () => {
    for await (const { type, worker: told } of subscriber.subscribe())
      presence.tell(told.uid, type !== "worker-dropped");
  })();
  return {
    presence,
    join: (uid) => publisher.publisher.publish("worker-added", worker(uid)),
    leave: (uid) => publisher.publisher.publish("worker-dropped", worker(uid)),
  };
}

/** The same with only the client of the registry. */
async function openClient(group) {
  const presence = new Presence();
  const events = {
    entries: (all) => {
      for (const uid of all.keys()) presence.tell(uid, true);
    },
    changed: (uid, text) => presence.tell(uid, text !== undefined),
    lost: (error) => {
      throw error;
    },
  };
  const [publisher, subscriber] = [await openBare(where, group, events), await openBare(where, group, events)];
  await subscriber.follow();
  const text = JSON.stringify({ ...worker("w"), tags: [] });
  return { presence, join: (uid) => publisher.put(uid, text), leave: (uid) => publisher.remove(uid) };
}

const parties = {};
let names = 0;

const commands = {
  /** Keeps this many workers in the group, from now on. */
  async keep({ group, size }) {
    const { publisher } = open(where, group);
    const uids = Array.from({ length: size }, (_, i) => `${group}-${i}`);
    await Promise.all(uids.map((uid) => publisher.publish("worker-added", worker(uid))));
  },
  /** Follows a group until this many are known. */
  async open({ group, size, bare }) {
    const party = await (bare ? openClient(group) : openDiscovery(group));
    parties[bare] = party;
    while (party.presence.size < size) await new Promise((resolve) => setTimeout(resolve, 20));
  },
  /**
   * Lets workers join until the subscriber knows them, and leave again. Returns the microseconds of a join, and the CPU
   * time in this process and in the server.
   */
  async join({ bare, count, server }) {
    const { presence, join, leave } = parties[bare];
    const uids = Array.from({ length: count }, () => `joined-${process.pid}-${names++}`);
    const one = async (uid) => {
      const from = performance.now();
      await join(uid);
      await presence.until(uid, true);
      return (performance.now() - from) * 1000;
    };
    const used = () => [cpuTimeOf([process.pid]), cpuTimeOf([server])];
    const before = used();
    const times = [];
    for (let i = 0; i < count; i += together) {
      times.push(...(await Promise.all(uids.slice(i, i + together).map(one))));
    }
    const [client, served] = used().map((us, i) => (us - before[i]) / count);
    await Promise.all(uids.map((uid) => leave(uid).then(() => presence.until(uid, false))));
    return { time: median(times), client, server: served };
  },
};

process.on("message", ({ command, settings }) => {
  commands[command](settings).then(
    (result) => process.send({ result }),
    (error) => process.send({ failure: error.stack }),
  );
});
process.once("disconnect", () => process.exit());
process.send({ result: "ready" });
