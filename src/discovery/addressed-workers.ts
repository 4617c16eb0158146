import { GrpcStatusError, StatusCode } from "../grpc/index.ts";
import { type CredentialsLike, clientTls, credentialsText, providerOf } from "../security/index.ts";
import { Backoff } from "./backoff.ts";
import { describeWorker, type LiveDescription } from "./describe-worker.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";
import type { WorkerSink } from "./worker-subscription.ts";

/** How long a worker has to describe itself before it is announced by its address alone, in milliseconds. */
const PATIENCE_MS = 2000;
/** Milliseconds. When a connection that lasted this long is lost, its worker is asked again soon. */
const LASTING_MS = 10_000;

/** How to reach workers that are known only by address. */
export interface AddressedWorkersOptions {
  /** Whether they listen with TLS. */
  readonly secure: boolean;
  /** Credentials for asking workers with TLS. Without them such workers are announced by their address alone. */
  readonly credentials?: CredentialsLike | undefined;
}

interface Place {
  /** What is announced of the worker; `undefined` before it is announced. */
  worker: WorkerMetadata | undefined;
  /** The description of the worker, over a connection that is still open. */
  description: LiveDescription | undefined;
  retry: NodeJS.Timeout | undefined;
  readonly backoff: Backoff;
}

/**
 * Workers that are known only by their addresses: asks each one for its description, and tells a subscription.
 *
 * A worker that does not answer is announced too, with its address as uid, so that calls to it fail with the reason. It
 * is asked again with backoff. A worker that answers but does not know the question is announced like that for good.
 *
 * The connection over which a worker answered stays open. When it is lost, the next worker at that address is asked: a
 * restarted worker has another uid, and perhaps other tags. Until then the old one stays announced.
 */
export class AddressedWorkers {
  readonly #sink: Pick<WorkerSink, "change" | "drop">;
  readonly #options: AddressedWorkersOptions;
  readonly #places = new Map<string, Place>();
  /** The same worker may be found at several addresses: the first one is used. */
  readonly #byUid = new Map<string, Set<Place>>();
  /** Uids for which it has warned that several workers share them. */
  readonly #shared = new Set<string>();

  constructor(sink: Pick<WorkerSink, "change" | "drop">, options: AddressedWorkersOptions) {
    this.#sink = sink;
    this.#options = options;
  }

  /** Sets the addresses. */
  set(addresses: Iterable<string>): void {
    const wanted = new Set(addresses);
    for (const address of Array.from(this.#places.keys())) if (!wanted.has(address)) this.#remove(address);
    for (const address of wanted) if (!this.#places.has(address)) this.#add(address);
  }

  /** Stops asking. */
  close(): void {
    for (const place of this.#places.values()) this.#leave(place);
    this.#places.clear();
  }

  #add(address: string): void {
    const place: Place = { worker: undefined, description: undefined, retry: undefined, backoff: new Backoff() };
    this.#places.set(address, place);
    const { secure, credentials } = this.#options;
    if (secure && credentials === undefined) this.#announce(place, workerAt(address, secure));
    else void this.#ask(address, place);
  }

  async #ask(address: string, place: Place): Promise<void> {
    const { secure, credentials } = this.#options;
    const asked = performance.now();
    let description: LiveDescription;
    try {
      const provider = secure && credentials !== undefined ? providerOf(credentials) : undefined;
      const text = provider === undefined ? undefined : credentialsText(await provider.load());
      const tls = text === undefined ? undefined : clientTls(text, provider?.identity);
      const lost = (): void => {
        if (performance.now() - asked > LASTING_MS) place.backoff.reset();
        this.#askLater(address, place);
      };
      description = await describeWorker(address, { timeout: PATIENCE_MS, tls, lost });
    } catch (error) {
      if (this.#places.get(address) !== place) return;
      if (place.worker === undefined) this.#announce(place, workerAt(address, secure));
      if (error instanceof GrpcStatusError && error.code === StatusCode.UNIMPLEMENTED) return;
      this.#askLater(address, place);
      return;
    }
    if (this.#places.get(address) !== place) return description.close();
    place.description = description;
    this.#announce(place, description.worker);
  }

  #askLater(address: string, place: Place): void {
    if (this.#places.get(address) !== place) return;
    this.#leave(place);
    place.retry = setTimeout(() => void this.#ask(address, place), place.backoff.next()).unref();
  }

  #leave(place: Place): void {
    clearTimeout(place.retry);
    place.description?.close();
    place.description = undefined;
  }

  #announce(place: Place, worker: WorkerMetadata): void {
    if (place.worker?.uid !== worker.uid) this.#withdraw(place);
    place.worker = worker;
    const places = (this.#byUid.get(worker.uid) ?? new Set()).add(place);
    this.#byUid.set(worker.uid, places);
    const [first] = places;
    if (first === place) this.#sink.change(worker);
    else if (first !== undefined) this.#warnOfTwins(first, place);
  }

  /**
   * Warns of two workers with one uid. Their descriptions differ, while one worker at two addresses has one
   * description.
   */
  #warnOfTwins({ worker, description }: Place, other: Place): void {
    if (worker === undefined || description === undefined || other.worker === undefined) return;
    if (description.text === other.description?.text || this.#shared.has(worker.uid)) return;
    this.#shared.add(worker.uid);
    process.emitWarning(
      `workers at ${worker.address} and ${other.worker.address} share the uid ${worker.uid}: only the first one is used. Give each worker its own uid`,
      "WoolWarning",
    );
  }

  #remove(address: string): void {
    const place = this.#places.get(address);
    if (place === undefined) return;
    this.#places.delete(address);
    this.#leave(place);
    this.#withdraw(place);
  }

  #withdraw(place: Place): void {
    const { worker } = place;
    const places = worker === undefined ? undefined : this.#byUid.get(worker.uid);
    if (worker === undefined || places === undefined) return;
    places.delete(place);
    place.worker = undefined;
    const [other] = places;
    if (other?.worker !== undefined) return this.#sink.change(other.worker);
    this.#byUid.delete(worker.uid);
    this.#sink.drop(worker.uid);
  }
}

/** The metadata of a worker of which only the address is known. */
export function workerAt(address: string, secure: boolean): WorkerMetadata {
  return { uid: address, address, pid: 0, version: "", tags: new Set(), extra: {}, secure, channel: {} };
}
