import { describe, expect, it } from "vitest";
import { LoopTimeout } from "./loop-timeout.ts";

function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

describe("LoopTimeout", () => {
  it("expires once while the event loop turns", async () => {
    let expired = 0;
    await new Promise<void>((resolve) => {
      const timeout = new LoopTimeout(() => {
        expired++;
        timeout.clear();
        resolve();
      }, 4);
    });
    expect(expired).toBe(1);
  });

  it("lets the event loop turn several times after a pause of this process before it expires", async () => {
    const events: string[] = [];
    const expired = new Promise<void>((resolve) => {
      const timeout = new LoopTimeout(() => {
        events.push("expired");
        timeout.clear();
        resolve();
      }, 20);
    });
    block(60);
    for (let turn = 0; turn < 3; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      events.push("turn");
      block(30);
    }
    await expired;
    expect(events).toEqual(["turn", "turn", "turn", "expired"]);
  });

  it("does not expire after clear, even when it is due", async () => {
    let expired = false;
    const timeout = new LoopTimeout(() => {
      expired = true;
    }, 1);
    const others = new Promise<void>((resolve) => {
      const other = new LoopTimeout(() => {
        other.clear();
        resolve();
      }, 50);
    });
    timeout.clear();
    await others;
    expect(expired).toBe(false);
  });
});
