import inspector from "node:inspector";
import { inspect, listening, liveValue, withDebugger, withRemoteObject } from "./inspector-session.ts";

/** A function that was entered and stopped before its first statement. */
export interface PausedFrame {
  /** What `this` means in it. */
  receiver(): unknown;
  /** Puts `value`, a string, into a variable around the function while `body` runs, then puts `previous` back. */
  withVariable(name: string, value: string, previous: unknown, body: () => void): boolean;
}

// Whatever a parameter pattern does to this finds more of the same, so that no default value is evaluated.
const stuffing: unknown = new Proxy(() => {}, {
  get: (_target, key) =>
    key === Symbol.iterator
      ? function* () {
          for (let index = 0; index < 64; index += 1) yield stuffing;
        }
      : stuffing,
});

const ENTER = Symbol.for("wool-ts.functions.enter");

/** True while a debugger may be attached: stopping would stop it there too. */
export function isDebuggerAttached(): boolean {
  return inspector.url() !== undefined;
}

/**
 * Enters a function far enough to see what is around it, and leaves it again before any of its statements has run:
 * V8 stops at its first statement, and what is under way is then terminated. Undefined when it did not stop, which it
 * does not for generators. Only for functions whose parameters have no computed keys.
 */
export function pauseIn<T>(fn: object, parameterCount: number, body: (frame: PausedFrame) => T): T | undefined {
  if (typeof fn !== "function" || isDebuggerAttached()) return undefined;
  let outcome: { value: T } | { error: unknown } | undefined;
  const onPaused = ({ callFrames }: inspector.Debugger.PausedEventDataType): void => {
    const [frame] = callFrames;
    try {
      if (frame !== undefined && outcome === undefined) outcome = { value: body(describe(frame)) };
    } catch (error) {
      outcome = { error };
    } finally {
      inspect("Runtime.terminateExecution");
    }
  };
  const enter = (): unknown => Reflect.apply(fn, undefined, new Array<unknown>(parameterCount).fill(stuffing));
  withDebugger(() =>
    withRemoteObject(fn, (objectId) => {
      const { breakpointId } = inspect<{ breakpointId: string }>("Debugger.setBreakpointOnFunctionCall", { objectId });
      Object.defineProperty(inspector, ENTER, { value: enter, configurable: true });
      try {
        listening("Debugger.paused", onPaused, () => run());
      } finally {
        Reflect.deleteProperty(inspector, ENTER);
        inspect("Debugger.removeBreakpoint", { breakpointId });
      }
    }),
  );
  if (outcome === undefined) return undefined;
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

/** An evaluation with a time limit is where a termination ends. */
function run(): void {
  try {
    inspect("Runtime.evaluate", {
      expression: `process.getBuiltinModule("node:inspector")[Symbol.for("${ENTER.description}")]()`,
      timeout: 60_000,
      silent: true,
    });
  } catch {
    // It was terminated, as intended.
  }
}

function describe(frame: inspector.Debugger.CallFrame): PausedFrame {
  const { callFrameId, scopeChain } = frame;
  const set = (scopeNumber: number, variableName: string, newValue: inspector.Runtime.CallArgument): void => {
    inspect("Debugger.setVariableValue", { scopeNumber, variableName, newValue, callFrameId });
  };
  return {
    receiver: () => {
      const { result } = inspect<inspector.Debugger.EvaluateOnCallFrameReturnType>("Debugger.evaluateOnCallFrame", {
        callFrameId,
        expression: "this",
        silent: true,
      });
      return liveValue(result);
    },
    withVariable: (name, value, previous, body) => {
      const scopeNumber = scopeChain.findIndex((scope) => scope.type !== "global" && holds(scope, name));
      if (scopeNumber < 0) return false;
      try {
        set(scopeNumber, name, { value });
        body();
      } finally {
        withArgument(previous, (argument) => set(scopeNumber, name, argument));
      }
      return true;
    },
  };
}

function holds({ object }: inspector.Debugger.Scope, name: string): boolean {
  if (object.objectId === undefined) return false;
  const { result } = inspect<inspector.Runtime.GetPropertiesReturnType>("Runtime.getProperties", {
    objectId: object.objectId,
    ownProperties: true,
  });
  return result.some((property) => property.name === name);
}

function withArgument(value: unknown, body: (argument: inspector.Runtime.CallArgument) => void): void {
  if ((typeof value === "object" && value !== null) || typeof value === "function" || typeof value === "symbol") {
    withRemoteObject(value, (objectId) => body({ objectId }));
  } else if (typeof value === "bigint") body({ unserializableValue: `${value}n` });
  else if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0))) {
    body({ unserializableValue: Object.is(value, -0) ? "-0" : String(value) });
  } else if (value === undefined) body({});
  else body({ value });
}
