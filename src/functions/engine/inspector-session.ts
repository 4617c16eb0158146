import inspector from "node:inspector";
import { setFlagsFromString } from "node:v8";
import { isError } from "../../checks/index.ts";
import { afterCapture, asOneCapture, captureNumber } from "./variable-marks.ts";

const KEEP_GROUP = "wool-keep";
const HANDOVER = Symbol.for("wool-ts.functions.handover");

// Objects are passed through this one, which V8 knows by a remote object id. Nothing is put on globalThis.
const handedOver: { subject: unknown } = { subject: undefined };
const exchange: { handedOver: typeof handedOver; taken: unknown } = { handedOver, taken: undefined };
const GIVE = "function(){return this.handedOver}";
const TAKE = "function(exchange){exchange.taken=this}";
const TAKE_ALL = "function(...values){this.taken=values}";

interface Connection {
  readonly session: inspector.Session;
  readonly exchangeId: string;
}

let connection: Connection | undefined;

function send<T>(session: inspector.Session, method: string, parameters: object): T {
  let failure: Error | null = null;
  let result: object | undefined;
  session.post(method, parameters, (error, value) => {
    failure = error;
    result = value;
  });
  if (failure !== null) throw new Error(`${method}: ${describeFailure(failure)}`);
  return result as T;
}

function describeFailure(failure: unknown): string {
  return isError(failure) ? failure.message : JSON.stringify(failure);
}

/** Thrown when the inspector is not available, as under the permission model of Node.js. */
export class EngineClosed extends Error {
  override readonly name = "EngineClosed";
}

function openSession(): inspector.Session {
  try {
    const session = new inspector.Session();
    session.connect();
    return session;
  } catch (error) {
    throw new EngineClosed("the inspector is not available in this process", { cause: error });
  }
}

/** The first major version of V8 that does not know the flag. */
const FIRST_WITHOUT_FLAG = 12;

function connect(): Connection {
  if (connection !== undefined) return connection;
  const session = openSession();
  // With this flag a variable in its temporal dead zone throws when read; without, it shows as undefined. Later versions
  // of the engine do not have the flag, and report such a variable by themselves.
  if (Number.parseInt(process.versions.v8, 10) < FIRST_WITHOUT_FLAG) {
    setFlagsFromString("--experimental-value-unavailable");
  }
  Object.defineProperty(inspector, HANDOVER, { value: exchange, configurable: true });
  try {
    const { result } = send<inspector.Runtime.EvaluateReturnType>(session, "Runtime.evaluate", {
      expression: `process.getBuiltinModule("node:inspector")[Symbol.for("${HANDOVER.description}")]`,
      objectGroup: KEEP_GROUP,
      silent: true,
    });
    if (result.objectId === undefined) throw new Error("the inspector does not reach this context");
    connection = { session, exchangeId: result.objectId };
    return connection;
  } catch (error) {
    session.disconnect();
    throw error;
  } finally {
    Reflect.deleteProperty(inspector, HANDOVER);
  }
}

/** Sends one command to the in-process inspector and returns its answer; synchronous. Throws when V8 refuses. */
export function inspect<T>(method: string, parameters: object = {}): T {
  return send<T>(connect().session, method, parameters);
}

/** Like `inspect` without an answer. Throws nothing: a debugger may be told to stop where errors are thrown. */
export function attempt(method: string, parameters: object): void {
  connect().session.post(method, parameters);
}

/** Runs `listener` for each event of that name while `during` runs. */
export function listening<E>(event: string, listener: (parameters: E) => void, during: () => void): void {
  const { session } = connect();
  const handler = (message: { params: E }): void => listener(message.params);
  session.on(event, handler);
  try {
    during();
  } finally {
    session.off(event, handler);
  }
}

let debuggerUsers = 0;
let isDebuggerOn = false;
let debuggerPeriods = 0;

/**
 * Runs `body` with the debugger on. It makes every `await` several times slower, so it is turned off when the current
 * code has run. Turning it on again for each use would cost more than the uses.
 */
export function withDebugger<T>(body: () => T): T {
  debuggerUsers += 1;
  try {
    if (!isDebuggerOn) {
      inspect("Debugger.enable");
      isDebuggerOn = true;
      debuggerPeriods += 1;
      queueMicrotask(turnDebuggerOff);
    }
    return body();
  } finally {
    debuggerUsers -= 1;
  }
}

/** True while the debugger is on, so that entering a function costs little. */
export function hasDebugger(): boolean {
  return isDebuggerOn;
}

/** How often the debugger has been turned on. Settings of one period, such as a breakpoint, are gone in the next. */
export function debuggerPeriod(): number {
  return debuggerPeriods;
}

/** Like `withDebugger`, and V8 announces every script again. */
export function withFreshDebugger<T>(body: () => T): T {
  if (debuggerUsers === 0) turnDebuggerOff();
  return withDebugger(body);
}

function turnDebuggerOff(): void {
  if (!isDebuggerOn || debuggerUsers > 0) return;
  isDebuggerOn = false;
  inspect("Debugger.disable");
}

const CAPTURE_GROUP = "wool-capture";
let handedOverId: string | undefined;
/** Objects that were handed over together, until the end of the capture: their ids, and which comes next. */
const foreseen = new Map<object, { readonly id: string; readonly next: object | undefined }>();

/** Objects that the inspector knows are released at the end of a capture. Otherwise they would stay alive for good. */
function connectForCapture(): string {
  if (handedOverId !== undefined) return handedOverId;
  const { result } = inspect<inspector.Runtime.CallFunctionOnReturnType>("Runtime.callFunctionOn", {
    objectId: connect().exchangeId,
    functionDeclaration: GIVE,
    objectGroup: CAPTURE_GROUP,
    silent: true,
  });
  if (result.objectId === undefined) throw new Error("the inspector did not return the object");
  handedOverId = result.objectId;
  afterCapture(() => {
    handedOverId = undefined;
    foreseen.clear();
    inspect("Runtime.releaseObjectGroup", { objectGroup: CAPTURE_GROUP });
  });
  return handedOverId;
}

function handOver(subject: object): string {
  const objectId = connectForCapture();
  handedOver.subject = subject;
  // Reading a property compiles nothing; a call would.
  const { result } = inspect<inspector.Runtime.GetPropertiesReturnType>("Runtime.getProperties", {
    objectId,
    ownProperties: true,
  });
  handedOver.subject = undefined;
  const [property] = result;
  if (property?.value?.objectId === undefined) throw new Error("the inspector did not return the object");
  return property.value.objectId;
}

/** Gives the inspector a reference to `subject` while `body` runs. */
export function withRemoteObject<T>(subject: object, body: (objectId: string) => T): T {
  return asOneCapture(() => body(foreseen.get(subject)?.id ?? handOver(subject)));
}

/**
 * Gives the inspector references to objects that the capture under way is about to ask about. For hundreds of functions
 * that takes 6 us each; one by one it takes 23.
 */
export function foreseeObjects(subjects: readonly object[]): void {
  if (captureNumber() === undefined) return;
  const { result } = inspect<inspector.Runtime.GetPropertiesReturnType>("Runtime.getProperties", {
    objectId: handOver([...subjects]),
    ownProperties: true,
  });
  for (const { name, value } of result) {
    const subject = subjects[Number(name)];
    if (subject === undefined || value?.objectId === undefined) continue;
    foreseen.set(subject, { id: value.objectId, next: subjects[Number(name) + 1] });
  }
}

/** The object that was handed over after this one, in the order of `foreseeObjects`. */
export function foreseenAfter(subject: object): object | undefined {
  return foreseen.get(subject)?.next;
}

function take(objectId: string): unknown {
  inspect("Runtime.callFunctionOn", {
    objectId,
    functionDeclaration: TAKE,
    arguments: [{ objectId: connect().exchangeId }],
    silent: true,
  });
  const { taken } = exchange;
  exchange.taken = undefined;
  return taken;
}

/** The actual value of a remote object. */
export function liveValue(remote: inspector.Runtime.RemoteObject): unknown {
  if (remote.objectId !== undefined) return take(remote.objectId);
  if (remote.unserializableValue === undefined) return remote.value;
  return remote.type === "bigint"
    ? BigInt(remote.unserializableValue.slice(0, -1))
    : Number(remote.unserializableValue);
}

/** The actual values of many remote objects, in their order. */
export function liveValues(remotes: readonly inspector.Runtime.RemoteObject[]): unknown[] {
  const held = remotes.filter(({ objectId }) => objectId !== undefined);
  if (held.length < 2) return remotes.map((remote) => liveValue(remote));
  inspect("Runtime.callFunctionOn", {
    objectId: connect().exchangeId,
    functionDeclaration: TAKE_ALL,
    arguments: held.map(({ objectId }) => ({ objectId })),
    silent: true,
  });
  const { taken } = exchange;
  exchange.taken = undefined;
  const values: unknown[] = Array.isArray(taken) ? [...taken] : [];
  return remotes.map((remote) => (remote.objectId === undefined ? liveValue(remote) : values.shift()));
}

/** The internal properties of an object. */
export function internalsOf(objectId: string): readonly inspector.Runtime.InternalPropertyDescriptor[] {
  const { internalProperties = [] } = inspect<inspector.Runtime.GetPropertiesReturnType>("Runtime.getProperties", {
    objectId,
    ownProperties: true,
  });
  return internalProperties;
}
