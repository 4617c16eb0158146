import { describe, expect, test } from "vitest";
import { request } from "../../test/support/wire-requests.ts";
import { contentHash, type Dependency } from "../functions/index.ts";
import { LimitExceeded } from "./connection-limits.ts";
import { type Acceptance, ReceivedDependencies } from "./dependency-ledger.ts";
import { LAST_REQUEST_FIELD } from "./fields.ts";
import { FrameReader, MalformedFrame } from "./frame-reader.ts";
import { TaskField } from "./request-frames.ts";

function frameOf(message: Uint8Array): FrameReader {
  const reader = new FrameReader(LAST_REQUEST_FIELD).open(Buffer.from(message), 0, message.length);
  reader.next();
  return reader;
}

function dependencyFrame(number: number, data: string, hash = contentHash(data)): FrameReader {
  return frameOf(request({ dependencies: [{ number, hash, data: Buffer.from(data) }] }));
}

const EVIL = '{"kind":"code","text":"evil"}';

const taskThatNeeds = (...needs: number[]): FrameReader => frameOf(request({ tasks: [{ id: 1, needs }] }));

describe("received dependencies", () => {
  test("are accepted when they are needed, once, and not before", () => {
    const accepted: Dependency[] = [];
    const received = new ReceivedDependencies((dependency) => void accepted.push(dependency));
    received.add(dependencyFrame(1, '{"kind":"code"}'));
    received.add(dependencyFrame(2, "{}"));
    const needs = received.needs(taskThatNeeds(1), TaskField.needs);
    expect([needs, accepted]).toEqual([[1], []]);
    expect(received.ready(needs)).toBeUndefined();
    expect(received.ready(needs)).toBeUndefined();
    expect(accepted).toEqual([{ hash: contentHash('{"kind":"code"}'), data: { kind: "code" } }]);
  });

  test("that are being loaded are waited for by everybody", async () => {
    let loaded: () => void = () => undefined;
    const loading = new Promise<void>((resolve) => {
      loaded = resolve;
    });
    let loads = 0;
    const received = new ReceivedDependencies(() => {
      loads++;
      return loading;
    });
    received.add(dependencyFrame(1, "{}"));
    const [one, other] = [received.ready([1]), received.ready([1])];
    loaded();
    await one;
    await other;
    expect([loads, received.ready([1])]).toEqual([1, undefined]);
  });

  test.each<[string, Acceptance]>([
    ["throws", () => expect.unreachable("the code is malformed")],
    ["rejects", () => Promise.reject(new Error("the code is malformed"))],
  ])("tell everybody who needs them when accepting %s", async (_name, accept) => {
    const received = new ReceivedDependencies(accept);
    received.add(dependencyFrame(1, "{}"));
    await expect(received.ready([1])).rejects.toThrow("the code is malformed");
    await expect(received.ready([1])).rejects.toThrow("the code is malformed");
  });

  test("must be what their hash says, or others would use them for something else", () => {
    const received = new ReceivedDependencies(() => undefined);
    expect(() => received.add(dependencyFrame(1, EVIL, contentHash('{"kind":"code","text":"good"}')))).toThrow(
      new MalformedFrame("dependency 1 does not match its hash"),
    );
    expect(() => received.add(dependencyFrame(1, '{"kind":"module"}', "h"))).toThrow(MalformedFrame);
    expect(() => received.add(dependencyFrame(1, "{", "h"))).toThrow(
      new MalformedFrame("a dependency is not valid JSON"),
    );
  });

  test("are not read before they are needed, however large, and fail those who need what cannot be read", async () => {
    const received = new ReceivedDependencies(() => undefined);
    received.add(dependencyFrame(1, "{"));
    await expect(received.ready([1])).rejects.toThrow("a dependency is not valid JSON");
  });

  test("are announced in few bytes where they are values", () => {
    const value = { hash: "h", ready: () => ({}) };
    const received = new ReceivedDependencies(
      () => undefined,
      undefined,
      () => value,
    );
    received.add(dependencyFrame(1, JSON.stringify("x".repeat(1_000_000)), "h"));
    expect(received.valueOf(1)).toBe(value);
    expect(() => received.add(dependencyFrame(2, JSON.stringify("x".repeat(1_050_000)), "h"))).toThrow(MalformedFrame);
  });

  test("cannot be needed before they were sent, or more often", () => {
    const received = new ReceivedDependencies(() => undefined);
    received.add(dependencyFrame(1, "{}"));
    expect(() => received.needs(taskThatNeeds(2), TaskField.needs)).toThrow("dependency 2 was never sent");
    expect(() => received.needs(taskThatNeeds(...Array.from({ length: 50 }, () => 1)), TaskField.needs)).toThrow(
      "more dependencies are needed than were sent",
    );
    expect(received.needs(taskThatNeeds(), TaskField.needs)).toEqual([]);
  });

  test("are bounded in number and bytes", () => {
    const few = new ReceivedDependencies(() => undefined, { maxAnnouncements: 1, maxAnnouncedBytes: 100 });
    few.add(dependencyFrame(1, "{}"));
    expect(() => few.add(dependencyFrame(2, "{}"))).toThrow(LimitExceeded);
    const small = new ReceivedDependencies(() => undefined, { maxAnnouncements: 9, maxAnnouncedBytes: 100 });
    expect(() => small.add(dependencyFrame(1, JSON.stringify("x".repeat(100))))).toThrow("limits.maxAnnouncedBytes");
  });
});
