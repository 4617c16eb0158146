import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import {
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  credentials,
  type ServiceError,
  type StatusObject,
  status,
} from "@grpc/grpc-js";

/** What generated code tells about a method. */
export interface Method<I extends DescMessage, O extends DescMessage> {
  readonly name: string;
  readonly parent: { readonly typeName: string };
  readonly input: I;
  readonly output: O;
}

/** A worker as seen by a gRPC client that knows only its protocol. */
export class GrpcWorker implements Disposable {
  readonly #client: Client;

  constructor(address: string, options: ClientOptions = {}) {
    this.#client = new Client(address, credentials.createInsecure(), options);
  }

  /** Makes a unary call. Rejects with the status when it is not OK. */
  call<I extends DescMessage, O extends DescMessage>(
    method: Method<I, O>,
    request: MessageShape<I>,
  ): Promise<MessageShape<O>> {
    return new Promise((resolve, reject) => {
      const answer = (error: ServiceError | null, response?: MessageShape<O>): void => {
        if (response === undefined) reject(error ?? new Error("no response"));
        else resolve(response);
      };
      this.#client.makeUnaryRequest(pathOf(method), encoder(method.input), decoder(method.output), request, answer);
    });
  }

  /** Opens a stream on which messages are sent as bytes, valid or not. */
  open<I extends DescMessage, O extends DescMessage>(method: Method<I, O>): GrpcStream<MessageShape<O>> {
    const stream = this.#client.makeBidiStreamRequest(pathOf(method), (bytes: Buffer) => bytes, decoder(method.output));
    return new GrpcStream(stream);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

/** A stream to a worker: what it answered so far, and how it ended. */
export class GrpcStream<O> {
  readonly received: O[] = [];
  /** The status that the stream ended with. */
  readonly ended: Promise<StatusObject>;
  readonly #stream: ClientDuplexStream<Buffer, O>;
  readonly #waiting: (() => void)[] = [];
  #end: StatusObject | undefined;

  constructor(stream: ClientDuplexStream<Buffer, O>) {
    this.#stream = stream;
    stream.on("data", (message: O) => {
      this.received.push(message);
      for (const wake of this.#waiting.splice(0)) wake();
    });
    // The status says the same.
    stream.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      stream.on("status", (end: StatusObject) => {
        this.#end = end;
        resolve(end);
        for (const wake of this.#waiting.splice(0)) wake();
      });
    });
  }

  send(bytes: Uint8Array): void {
    this.#stream.write(Buffer.from(bytes));
  }

  /** The message with this index, once it has come. Rejects when the stream ends before. */
  async message(index: number): Promise<O> {
    for (;;) {
      const message = this.received[index];
      if (message !== undefined) return message;
      const end = this.#end;
      if (end !== undefined) throw new Error(`the stream ended with ${status[end.code]}: ${end.details}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Ends the sending side. */
  halfClose(): void {
    this.#stream.end();
  }

  cancel(): void {
    this.#stream.cancel();
  }
}

function pathOf(method: Method<DescMessage, DescMessage>): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function encoder<D extends DescMessage>(schema: D): (message: MessageShape<D>) => Buffer {
  return (message) => Buffer.from(toBinary(schema, message));
}

function decoder<D extends DescMessage>(schema: D): (bytes: Buffer) => MessageShape<D> {
  return (bytes) => fromBinary(schema, bytes);
}
