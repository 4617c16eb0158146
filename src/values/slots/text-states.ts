import { TextDecoder, TextEncoder } from "node:util";
import { MalformedPayload } from "../bytes/index.ts";
import { builtInGetter, ownProperty } from "../own-property.ts";
import { ValueRefusal } from "../value-refusal.ts";
import type { InternalState } from "./internal-state.ts";
import { platformKeys, succeeds } from "./platform-class.ts";

const encodingOfEncoder = builtInGetter(TextEncoder.prototype, "encoding");
const encodingOf = builtInGetter(TextDecoder.prototype, "encoding");
const fatalOf = builtInGetter(TextDecoder.prototype, "fatal");
const ignoreBomOf = builtInGetter(TextDecoder.prototype, "ignoreBOM");

const FATAL = 1;
const IGNORE_BOM = 2;

/** `TextEncoder`s. They have no state. */
export const textEncoderState: InternalState<TextEncoder> = {
  number: 15,
  is: (value): value is TextEncoder => succeeds(() => encodingOfEncoder(value)),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? TextEncoder.prototype : undefined),
  writeShell: () => {},
  readShell: () => new TextEncoder(),
  summary: () => undefined,
  implies: (_encoder, key) => isKeyOfEncoder(key),
};

const isKeyOfEncoder = platformKeys(() => new TextEncoder());

/** `TextDecoder`s that are not in the middle of a stream. */
export const textDecoderState: InternalState<TextDecoder> = {
  number: 16,
  is: (value): value is TextDecoder => succeeds(() => encodingOf(value)),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? TextDecoder.prototype : undefined),
  writeShell(writer, decoder) {
    const encoding = String(encodingOf(decoder));
    const flags = flagsOf(decoder);
    if (!isFresh(decoder, makeDecoder(encoding, flags))) {
      throw new ValueRefusal(
        decoder,
        `a TextDecoder for ${encoding} may hold part of a character, which only this process can see`,
        "Make it inside the routine.",
      );
    }
    writer.string(encoding);
    writer.byte(flags);
  },
  readShell(reader) {
    const encoding = reader.text();
    const flags = reader.byte();
    try {
      return makeDecoder(encoding, flags);
    } catch (error) {
      throw new MalformedPayload(`the payload holds a TextDecoder for the unknown encoding ${encoding}`, {
        cause: error,
      });
    }
  },
  implies: (_decoder, key) => isKeyOfDecoder(key),
};

const isKeyOfDecoder = platformKeys(() => new TextDecoder());

function flagsOf(decoder: TextDecoder): number {
  return (fatalOf(decoder) === true ? FATAL : 0) | (ignoreBomOf(decoder) === true ? IGNORE_BOM : 0);
}

function makeDecoder(encoding: string, flags: number): TextDecoder {
  return new TextDecoder(encoding, { fatal: (flags & FATAL) !== 0, ignoreBOM: (flags & IGNORE_BOM) !== 0 });
}

/** True when the whole state of a decoder can be compared and equals that of a new one. */
function isFresh(decoder: TextDecoder, fresh: TextDecoder): boolean {
  return Reflect.ownKeys(fresh).every((key) => {
    const held = ownProperty(decoder, key)?.value;
    return Object.is(held, ownProperty(fresh, key)?.value) && (typeof held !== "object" || held === null);
  });
}
