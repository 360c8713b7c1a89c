/** Node's streams as those of the web, and the other way round. */

export interface NodeReadable {
  readonly readableObjectMode: boolean;
  destroy(reason?: unknown): void;
  [Symbol.asyncIterator](): AsyncIterator<unknown>;
}

type Done = (error?: unknown) => void;

export interface NodeWritable {
  write(chunk: unknown, done: Done): void;
  end(done: Done): void;
  on(event: string, listener: Done): void;
  destroy(reason?: unknown): void;
}

/** Options of a `Writable` that writes into a stream of the web. */
interface WritableOptions {
  write(chunk: unknown, encoding: string, done: Done): void;
  final(done: Done): void;
  destroy(error: unknown, done: Done): void;
}

/** A chunk is read when it is asked for. */
export function readableToWeb(stream: NodeReadable): object {
  const chunks = stream[Symbol.asyncIterator]();
  return new ReadableStream(
    {
      async pull(controller: { enqueue(chunk: unknown): void; close(): void }) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value instanceof Uint8Array && !stream.readableObjectMode ? plain(value) : value);
      },
      cancel: (reason: unknown) => stream.destroy(reason),
    },
    { highWaterMark: 0 },
  );
}

/** The bytes without the class `Buffer`, as Node gives them. */
function plain({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

export function writableToWeb(stream: NodeWritable): object {
  const during = (act: (done: Done) => void): Promise<void> =>
    new Promise((resolve, reject) =>
      act((error) => (error === undefined || error === null ? resolve() : reject(error as Error))),
    );
  return new WritableStream({
    start: (controller: { error(reason: unknown): void }) => {
      stream.on("error", (error) => controller.error(error));
    },
    write: (chunk: unknown) => during((done) => stream.write(chunk, done)),
    close: () => during((done) => stream.end(done)),
    abort: (reason: unknown) => stream.destroy(reason),
  });
}

export function optionsFromWeb(stream: { getWriter(): WebWriter }): WritableOptions {
  const writer = stream.getWriter();
  const settle = (work: Promise<unknown>, done: Done): void =>
    void work.then(
      () => done(),
      (error: unknown) => done(error),
    );
  return {
    write: (chunk, _encoding, done) => settle(writer.write(chunk), done),
    final: (done) => settle(writer.close(), done),
    destroy: (error, done) => {
      if (error === null || error === undefined) return done();
      settle(
        writer
          .abort(error)
          .catch(() => undefined)
          .then(() => Promise.reject(error as Error)),
        done,
      );
    },
  };
}

interface WebWriter {
  write(chunk: unknown): Promise<void>;
  close(): Promise<void>;
  abort(reason: unknown): Promise<void>;
}
