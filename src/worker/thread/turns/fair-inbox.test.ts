import { describe, expect, it } from "vitest";
import { FrameReader } from "../../../wire/index.ts";
import { FairInbox, SessionInbox } from "./fair-inbox.ts";

const MIB = 1024 * 1024;
interface Named {
  readonly name: string;
  readonly inbox: SessionInbox;
  readonly party: object;
}
const named = (name: string, party: object = {}): Named => ({ name, party, inbox: new SessionInbox() });
const message = (bytes = 1): FrameReader => new FrameReader(1).open(Buffer.alloc(bytes), 0, bytes);

function setUp() {
  const held: [string, boolean][] = [];
  const inbox = new FairInbox<Named>((session, isHeld) => held.push([session.name, isHeld]));
  return { inbox, held, greedy: named("greedy"), polite: named("polite") };
}

describe("FairInbox", () => {
  it("lets sessions take turns, message by message", () => {
    const { inbox, greedy, polite } = setUp();
    for (let i = 0; i < 3; i++) inbox.add(greedy, message());
    inbox.add(polite, message());
    const turns: string[] = [];
    for (let session = inbox.current; session !== undefined; session = inbox.current) {
      turns.push(session.name);
      inbox.done();
    }
    expect(turns).toEqual(["greedy", "polite", "greedy", "greedy"]);
  });

  it("gives many sessions of one caller no more turns than the one of another", () => {
    const { inbox, greedy, polite } = setUp();
    const more = Array.from({ length: 5 }, () => named("greedy", greedy.party));
    for (const session of [greedy, ...more, polite]) for (let i = 0; i < 2; i++) inbox.add(session, message());
    expect([inbox.size, inbox.parties]).toEqual([7, 2]);
    const turns: string[] = [];
    for (let i = 0; i < 5; i++) {
      turns.push(inbox.current?.name ?? "");
      inbox.done();
    }
    expect(turns).toEqual(["greedy", "polite", "greedy", "polite", "greedy"]);
  });

  it("gives the turn of a message that takes long to the next session", () => {
    const { inbox, greedy, polite } = setUp();
    inbox.add(greedy, message());
    inbox.add(polite, message());
    inbox.yieldTurn();
    expect(inbox.current).toBe(polite);
    inbox.done();
    expect([inbox.current, inbox.size]).toEqual([greedy, 1]);
  });

  it("passes over a session that was suspended, until it wakes", () => {
    const { inbox, greedy } = setUp();
    inbox.add(greedy, message());
    inbox.suspend();
    expect(inbox.current).toBeUndefined();
    inbox.wake(greedy);
    inbox.wake(greedy);
    expect([inbox.current, inbox.size]).toEqual([greedy, 1]);
  });

  it("has a session held that is far behind, and let go on when it is not", () => {
    const { inbox, held, greedy } = setUp();
    for (let i = 0; i < 5; i++) inbox.add(greedy, message(MIB));
    expect(held).toEqual([["greedy", true]]);
    for (let i = 0; i < 5; i++) inbox.done();
    expect(held).toEqual([
      ["greedy", true],
      ["greedy", false],
    ]);
  });

  it("gives each session a share of the room where there are many, and a message at least", () => {
    const { inbox, held } = setUp();
    const many = Array.from({ length: 200 }, (_, i) => named(`${i}`));
    for (const session of many) inbox.add(session, message(MIB / 4));
    expect(held).toEqual([]);
    for (const session of many) inbox.add(session, message(MIB / 4));
    expect(held).toHaveLength(200);
    while (inbox.current !== undefined) inbox.done();
    expect(held.slice(200)).toEqual(many.map(({ name }) => [name, false]));
  });

  it("has a session held that has sent thousands of messages with nothing in them", () => {
    const { inbox, held, greedy } = setUp();
    for (let i = 0; i < 5000; i++) inbox.add(greedy, message(0));
    expect(held).toEqual([["greedy", true]]);
  });

  it("forgets the messages of a session", () => {
    const { inbox, greedy, polite } = setUp();
    inbox.add(greedy, message());
    inbox.add(polite, message());
    inbox.drop(greedy);
    expect([inbox.current, inbox.size]).toEqual([polite, 1]);
  });
});
