import {
  HandshakeError,
  NoWorkersAvailable,
  RpcError,
  SerializationError,
  TaskTimeout,
  TransientRpcError,
  VersionMismatch,
  WoolError,
} from "wool-ts";
import { expectType } from "./expect-type.ts";

declare const caught: unknown;

if (caught instanceof WoolError) expectType<string>()(caught.code);
if (caught instanceof SerializationError) expectType<string>()(caught.path);
if (caught instanceof NoWorkersAvailable) expectType<readonly Error[]>()(caught.errors);
if (caught instanceof RpcError) expectType<number>()(caught.status);
if (WoolError.isWoolError(caught)) expectType<WoolError>()(caught);

const transient: TransientRpcError = new HandshakeError("a", 14);
export const rpc: RpcError = transient;
export const mismatch: RpcError = new VersionMismatch("a", 9);
export const timeout: Error = new TaskTimeout("a", { cause: new Error("b") });

declare const error: WoolError;
// @ts-expect-error -- a code does not change
error.code = "OTHER";
