import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SerializationError } from "../errors.ts";
import { type CallContext, currentCallContext, runInCallContext } from "../routine/call-context.ts";
import { ValueDecoder } from "../values/index.ts";
import { decodeContext, encodeContext } from "./context-codec.ts";
import { ContextVar } from "./context-var.ts";
import { runtimeContext } from "./runtime-context.ts";

const decoder = new ValueDecoder();

function roundTrip(context: CallContext): CallContext {
  const encoded = encodeContext(context);
  if (encoded === undefined) return {};
  const padded = Buffer.concat([Buffer.from([255, 255]), encoded.bytes, Buffer.from([255])]);
  return decodeContext(decoder, padded, 2, padded.length - 1);
}

describe("the context of a call", () => {
  it("is nothing when nothing was set", () => {
    const signal = new AbortController().signal;
    for (const context of [{}, { variables: new Map() }, { ambient: {} }, { ambient: { signal, timeout: 5 } }]) {
      expect(encodeContext(context)).toBeUndefined();
    }
  });

  it("arrives as it was: variables and the dispatch timeout", () => {
    const entry = fc.tuple(fc.string(), fc.oneof(fc.string(), fc.double(), fc.array(fc.integer()), fc.constant(null)));
    fc.assert(
      fc.property(fc.array(entry), fc.option(fc.nat(), { nil: undefined }), (entries, dispatchTimeout) => {
        const variables = new Map<string, unknown>(entries);
        const ambient = dispatchTimeout === undefined ? {} : { dispatchTimeout };
        const arrived = roundTrip({ variables, ambient });
        expect(arrived.variables ?? new Map()).toEqual(variables);
        expect(arrived.ambient ?? {}).toEqual(ambient);
      }),
    );
  });

  it("can be set on the other side", () => {
    const user = new ContextVar("user of a codec", { default: "nobody" });
    const arrived = user.run("ann", () =>
      runtimeContext.run({ dispatchTimeout: 5 }, () => roundTrip(currentCallContext() ?? {})),
    );
    runInCallContext(arrived, () => {
      expect(user.get()).toBe("ann");
      expect(currentCallContext()?.ambient).toEqual({ dispatchTimeout: 5 });
    });
  });

  it("keeps what two variables share", () => {
    const shared = { n: 1 };
    const variables = roundTrip({ variables: new Map([["a", shared] as const, ["b", shared] as const]) }).variables;
    expect(variables?.get("a")).toEqual(shared);
    expect(variables?.get("a")).toBe(variables?.get("b"));
  });

  it("that cannot travel is refused with the place", () => {
    expect(() => encodeContext({ variables: new Map([["a", new WeakRef({})]]) })).toThrow(SerializationError);
    expect(() => encodeContext({ variables: new Map([["a", new WeakRef({})]]) })).toThrow(/context/);
  });

  it("is not changed by what is encoded after it", () => {
    const first = encodeContext({ variables: new Map([["a", "first"]]) });
    encodeContext({ variables: new Map([["a", "other"]]) });
    expect(decodeContext(decoder, first?.bytes ?? Buffer.alloc(0), 0, first?.bytes.length ?? 0).variables).toEqual(
      new Map([["a", "first"]]),
    );
  });
});
