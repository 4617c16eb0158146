import type { Call } from "../call/index.ts";
import { SerializationError } from "../errors.ts";
import { type Dependency, processId } from "../functions/index.ts";
import { StatusCode } from "../grpc/index.ts";
import { payloadFiles } from "../host/index.ts";
import {
  type BatchWriter,
  DEFAULT_ENCODING,
  DEFAULT_LANGUAGE,
  ENCODINGS,
  type FrameReader,
  isSpoken,
  LANGUAGES,
  MINIMUM_PROTOCOL_VERSION,
  PROTOCOL_VERSION,
  ResponseField,
  type Welcome,
  WelcomeField,
  writeHello,
} from "../wire/index.ts";
import { errorForStatus } from "./error-classes.ts";
import { SessionStream } from "./session-stream.ts";

/** Bytes of a frame besides its largest field, at most. */
const FRAME_OVERHEAD = 1024;

const sizes = new WeakMap<Dependency, number>();

/** What a worker accepts: by its welcome, and by the size of messages that it advertises. */
export class PeerTerms {
  /** Whether it accepts packs. */
  takesPacks = false;
  readonly #address: string;
  readonly #maxMessageBytes: number | undefined;
  #languages: readonly string[] = [];
  #encodings: readonly string[] = [];
  /** Whether it runs routines whose code travels. */
  #isUsual = true;

  constructor(address: string, maxMessageBytes: number | undefined) {
    this.#address = address;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** Writes the first message to the worker, for the session with one of its task threads. */
  greet(writer: BatchWriter, lane: number): void {
    writeHello(writer, {
      version: PROTOCOL_VERSION,
      minimum: MINIMUM_PROTOCOL_VERSION,
      // Part of the name of each task, and of the code that comes back from a worker.
      callerId: processId,
      lane,
      fileRealm: this.#address.startsWith("unix:") ? payloadFiles.realm : "",
      languages: LANGUAGES,
      encodings: ENCODINGS,
      takesLane: SessionStream.canTakeLane(this.#address),
    });
  }

  /**
   * Reads the first message of the worker.
   *
   * @throws RpcError unless it is a welcome in a version that this caller speaks
   */
  read(frame: FrameReader): Required<Welcome> {
    const isWelcome = frame.next() === ResponseField.welcome;
    const version = frame.integer(WelcomeField.version);
    if (!isWelcome) {
      const message = "its first message is not a welcome: is it a worker?";
      throw errorForStatus({ code: StatusCode.INTERNAL, message }, this.#address);
    }
    if (!isSpoken(version)) {
      const message =
        `it speaks protocol version ${version}, and this caller ${PROTOCOL_VERSION}: ` +
        "install the same version of wool-ts on both sides";
      throw errorForStatus({ code: StatusCode.FAILED_PRECONDITION, message }, this.#address);
    }
    const languages = textsOr(frame.texts(WelcomeField.languages), DEFAULT_LANGUAGE);
    const encodings = textsOr(frame.texts(WelcomeField.encodings), DEFAULT_ENCODING);
    this.takesPacks = frame.integer(WelcomeField.takesPacks) === 1;
    this.#languages = languages;
    this.#encodings = encodings;
    this.#isUsual = languages.includes(DEFAULT_LANGUAGE) && encodings.includes(DEFAULT_ENCODING);
    return {
      version,
      workerUid: frame.text(WelcomeField.workerUid),
      lanes: frame.integer(WelcomeField.lanes),
      maxConcurrency: frame.integer(WelcomeField.maxConcurrency),
      sharesFiles: frame.integer(WelcomeField.sharesFiles) === 1,
      oneKind: frame.integer(WelcomeField.oneKind) === 1,
      languages,
      encodings,
      laneSocket: frame.text(WelcomeField.laneSocket),
      laneTicket: frame.text(WelcomeField.laneTicket),
      takesPacks: this.takesPacks,
    };
  }

  /**
   * Why the worker cannot have a call: an `RpcError` if another worker may, a `SerializationError` if the call is at fault.
   *
   * @param inlineBytes - size of the largest arguments that share one frame with the rest of the call
   */
  refusal(call: Call, inlineBytes: number): Error | undefined {
    if (!this.#runs(call)) return this.#otherLanguage(call);
    const most = this.#maxMessageBytes;
    if (most === undefined) return undefined;
    const size = largestPiece(call, inlineBytes);
    return size <= most ? undefined : this.#tooLarge(call.route.name, size);
  }

  #runs({ route: { language, encoding } }: Call): boolean {
    if (language === undefined) return this.#isUsual;
    return this.#languages.includes(language) && this.#encodings.includes(encoding ?? DEFAULT_ENCODING);
  }

  /** The worker runs other languages than it announced. */
  #otherLanguage({ route }: Call): Error {
    const { name, language = DEFAULT_LANGUAGE, encoding = DEFAULT_ENCODING } = route;
    const message =
      `it runs functions of ${this.#languages.join(", ")} with values as ${this.#encodings.join(" or ")}, and ${name} is ` +
      `a function of ${language} with values as ${encoding}`;
    return errorForStatus({ code: StatusCode.UNIMPLEMENTED, message }, this.#address);
  }

  #tooLarge(name: string, size: number): Error {
    return new SerializationError(
      `the code of ${name} with what it captured, or its context, takes ${size} bytes in one piece, and worker ` +
        `${this.#address} takes messages of at most ${this.#maxMessageBytes} (channel.maxMessageBytes): capture less, ` +
        "pass large values as arguments, or raise the limit",
      name,
    );
  }
}

/** A peer that names none has the default one. */
function textsOr(texts: readonly string[], usual: string): readonly string[] {
  return texts.length === 0 ? [usual] : texts;
}

/** Bytes of the largest frame of a call that cannot be cut into chunks: code, captured values, or the context. */
function largestPiece({ route, extras }: Call, inlineBytes: number): number {
  const dependencies = [...route.dependencies, ...(extras?.dependencies ?? [])];
  const serializer = route.serializer?.length ?? 0;
  const task = inlineBytes + (extras?.context?.length ?? 0);
  return Math.max(route.code.length + serializer, task, ...dependencies.map(sizeOf)) + FRAME_OVERHEAD;
}

function sizeOf(dependency: Dependency): number {
  let size = sizes.get(dependency);
  if (size === undefined) {
    size = Buffer.byteLength(JSON.stringify(dependency.data));
    sizes.set(dependency, size);
  }
  return size;
}
