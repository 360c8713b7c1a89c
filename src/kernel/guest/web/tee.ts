import type { ReadableStream, ReadableStreamDefaultController, UnderlyingSource } from "web-streams-polyfill";
import { realmParts } from "./realm-parts.ts";

/** One of the two streams of a tee. */
interface Branch {
  readonly stream: ReadableStream;
  readonly controller: ReadableStreamDefaultController<unknown>;
  isCancelled: boolean;
  reason: unknown;
}

/**
 * Tees a stream as bodies are teed: no reader sees another's writes to a chunk. A stream of bytes always does so; for
 * any other, the second branch has structured clones (ReadableStreamTee of the Streams Standard, with
 * `cloneForBranch2`).
 */
export function teeWithClones(stream: ReadableStream): readonly [ReadableStream, ReadableStream] {
  const { ReadableByteStreamController } = realmParts().streams();
  // The streams have no public property for this, but keep it in the standard's internal slot.
  if (Reflect.get(stream, "_readableStreamController") instanceof ReadableByteStreamController) return stream.tee();
  const tee = new ClonesTee(stream);
  return [tee.first.stream, tee.second.stream];
}

class ClonesTee {
  readonly first: Branch;
  readonly second: Branch;
  readonly #reader: ReturnType<typeof readerOf>;
  readonly #cancelled = Promise.withResolvers<undefined>();
  #isReading = false;
  #isAskedAgain = false;

  constructor(stream: ReadableStream) {
    this.#reader = readerOf(stream);
    this.first = this.#branch();
    this.second = this.#branch();
    this.#reader.closed.catch((error: unknown) => this.#fail(error));
  }

  #branch(): Branch {
    let own: ReadableStreamDefaultController<unknown> | undefined;
    const source: UnderlyingSource = {
      start: (controller) => void (own = controller),
      pull: () => this.#pull(),
      cancel: (reason) => this.#cancel(branch, reason),
    };
    const stream = new (realmParts().streams().ReadableStream)(source);
    if (own === undefined) throw new TypeError("the stream has not started");
    const branch: Branch = { stream, controller: own, isCancelled: false, reason: undefined };
    return branch;
  }

  #pull(): void {
    if (this.#isReading) this.#isAskedAgain = true;
    else {
      this.#isReading = true;
      // Errors come by `closed`.
      this.#reader.read().then(
        ({ done, value }) => this.#receive(done, value),
        () => undefined,
      );
    }
  }

  #receive(done: boolean, chunk: unknown): void {
    this.#isReading = false;
    const open = [this.first, this.second].filter(({ isCancelled }) => !isCancelled);
    if (done) {
      for (const { controller } of open) controller.close();
      this.#cancelled.resolve(undefined);
      return;
    }
    let clone: unknown;
    try {
      clone = this.second.isCancelled ? undefined : realmParts().structuredClone(chunk);
    } catch (error) {
      this.#fail(error);
      this.#reader.cancel(error).catch(() => undefined);
      return;
    }
    for (const branch of open) branch.controller.enqueue(branch === this.first ? chunk : clone);
    if (!this.#isAskedAgain) return;
    this.#isAskedAgain = false;
    this.#pull();
  }

  #fail(error: unknown): void {
    for (const { controller } of [this.first, this.second]) controller.error(error);
    this.#cancelled.resolve(undefined);
  }

  /** The stream is cancelled with the second branch. */
  #cancel(branch: Branch, reason: unknown): Promise<undefined> {
    branch.isCancelled = true;
    branch.reason = reason;
    if (this.first.isCancelled && this.second.isCancelled) {
      const cancelling = this.#reader.cancel([this.first.reason, this.second.reason]);
      cancelling.then(() => this.#cancelled.resolve(undefined), this.#cancelled.reject);
    }
    return this.#cancelled.promise;
  }
}

function readerOf(stream: ReadableStream) {
  return stream.getReader();
}
