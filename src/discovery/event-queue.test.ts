import { describe, expect, it, vi } from "vitest";
import { EventQueue, type EventSink } from "./event-queue.ts";

const END = { done: true, value: undefined };

function open<T>(release: () => void | Promise<void> = () => {}): { queue: EventQueue<T>; sink: EventSink<T> } {
  const queue = new EventQueue<T>(() => release);
  return { queue, sink: queue };
}

describe("EventQueue", () => {
  it("hands over in order what came before and after it was asked for", async () => {
    const { queue, sink } = open<number>();
    const early = [queue.next(), queue.next()];
    for (const event of [1, 2, 3, 4]) sink.push(event);
    const results = await Promise.all([...early, queue.next(), queue.next()]);
    expect(results.map(({ value }) => value)).toEqual([1, 2, 3, 4]);
    await queue.return();
  });

  it("carries undefined as it does any other event", async () => {
    const queue = new EventQueue<undefined>((sink) => {
      sink.push(undefined);
      return () => {};
    });
    expect(await queue.next()).toEqual({ done: false, value: undefined });
    await queue.return();
  });

  it("starts its producer at the first next(), once, and never after return()", async () => {
    const start = vi.fn(() => () => {});
    const queue = new EventQueue<number>(start);
    expect(start).not.toHaveBeenCalled();
    void queue.next();
    void queue.next();
    expect(start).toHaveBeenCalledTimes(1);
    await queue.return();

    const unread = new EventQueue<number>(start);
    expect(await unread.return()).toEqual(END);
    expect(await unread.next()).toEqual(END);
    expect(start).toHaveBeenCalledTimes(1);
  });

  it("ends readers that wait, and forgets what is unread, when the consumer leaves", async () => {
    const release = vi.fn();
    const { queue, sink } = open<number>(release);
    const waiting = [queue.next(), queue.next()];
    expect(await queue.return()).toEqual(END);
    expect(await Promise.all(waiting)).toEqual([END, END]);
    sink.push(1);
    expect(await queue.next()).toEqual(END);
    await queue.return();
    expect(release).toHaveBeenCalledTimes(1);
  });

  it("waits in return() for the release, and passes on what that throws", async () => {
    let isReleased = false;
    const slow = open<number>(async () => {
      await Promise.resolve();
      isReleased = true;
    });
    void slow.queue.next();
    await slow.queue.return();
    expect(isReleased).toBe(true);

    const broken = open<number>(() => Promise.reject(new Error("stuck")));
    void broken.queue.next();
    await expect(broken.queue.return()).rejects.toThrow("stuck");
  });

  it("releases at break", async () => {
    const release = vi.fn();
    const queue = new EventQueue<number>((sink) => {
      sink.push(1);
      return release;
    });
    for await (const event of queue) {
      expect(event).toBe(1);
      break;
    }
    expect(release).toHaveBeenCalledTimes(1);
  });

  it("gives what was pushed before its end, and then the end", async () => {
    const release = vi.fn();
    const { queue, sink } = open<number>(release);
    const first = queue.next();
    for (const event of [1, 2]) sink.push(event);
    sink.end();
    sink.push(3);
    expect(release).toHaveBeenCalledTimes(1);
    expect(await first).toEqual({ done: false, value: 1 });
    expect(await queue.next()).toEqual({ done: false, value: 2 });
    expect(await queue.next()).toEqual(END);
    await queue.return();
    expect(release).toHaveBeenCalledTimes(1);
  });

  it("gives a failure to one reader, and the end to the others", async () => {
    const { queue, sink } = open<number>();
    const waiting = [queue.next(), queue.next()];
    sink.fail(new Error("lost"));
    sink.fail(new Error("again"));
    await expect(waiting[0]).rejects.toThrow("lost");
    expect(await waiting[1]).toEqual(END);
    expect(await queue.next()).toEqual(END);
  });

  it("fails when its producer cannot start, and releases one that ended while it started", async () => {
    const broken = new EventQueue<number>(() => {
      throw new Error("no start");
    });
    await expect(broken.next()).rejects.toThrow("no start");
    expect(await broken.next()).toEqual(END);

    const release = vi.fn();
    const brief = new EventQueue<number>((sink) => {
      sink.push(1);
      sink.end();
      return release;
    });
    expect(await brief.next()).toEqual({ done: false, value: 1 });
    expect(await brief.next()).toEqual(END);
    expect(release).toHaveBeenCalledTimes(1);
  });
});
