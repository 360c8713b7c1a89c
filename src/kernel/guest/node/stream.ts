import stream from "readable-stream";
import errors from "readable-stream/lib/ours/errors.js";
import { library, type NodeModule, soon } from "./inner/library.ts";
import { optionsFromWeb, readableToWeb, writableToWeb } from "./inner/web-streams.ts";

/** `node:stream`. */
const promises = stream["promises"] as NodeModule;

// The class from which streams without buffers inherit, as Node has it: the package itself is `Readable`.
const classes = stream["Stream"] as NodeModule & ((...args: never[]) => unknown);
for (const [name, value] of Object.entries({
  promises: { ...promises },
  isErrored: (one: { errored?: unknown }) => one.errored !== null && one.errored !== undefined,
  isReadable: (one: { readable?: boolean }) => one.readable === true,
  isWritable: (one: { writable?: boolean }) => one.writable === true,
})) {
  if (!(name in classes) || name === "promises") {
    Object.defineProperty(classes, name, { value, enumerable: true, writable: true, configurable: true });
  }
}

// The package accesses streams of the web in Node's own way, which a realm lacks.
const readable = classes["Readable"] as NodeModule & { from(chunks: object, options: object): object };
const fromWeb = (stream: object, options: object = {}): object =>
  readable.from(stream, { objectMode: false, ...options });
const { Writable, Duplex } = classes as unknown as {
  Writable: NodeModule & (new (options: object) => object);
  Duplex: NodeModule & (new (options: object) => object) & { from(pair: object): object };
};
const intoWeb = (stream: object, options: object = {}): object =>
  new Writable({ ...optionsFromWeb(stream as never), ...options });
Object.assign(readable, { fromWeb, toWeb: readableToWeb });
Object.assign(Writable, { fromWeb: intoWeb, toWeb: writableToWeb });
Object.assign(Duplex, {
  fromWeb: (pair: { readable: object; writable: object }, options?: object) =>
    Duplex.from({ readable: fromWeb(pair.readable, options), writable: intoWeb(pair.writable, options) }),
  toWeb: (stream: never) => ({ readable: readableToWeb(stream), writable: writableToWeb(stream) }),
});

type Pipe = NodeModule & { push(chunk: unknown): void; on(event: string, act: () => void): void };

/** Two streams: what one is given, the other gives, and as fast as that is read. */
classes["duplexPair"] = function duplexPair(options?: object): readonly Pipe[] {
  const waiting = new Map<Pipe, () => void>();
  const release = (reader: Pipe): void => {
    const taken = waiting.get(reader);
    waiting.delete(reader);
    taken?.();
  };
  const pass = (reader: Pipe, chunk: unknown, done: () => void): void => {
    // An empty chunk asks for no read.
    if ((chunk as { length?: number } | null)?.length === 0) return soon(done);
    waiting.set(reader, done);
    reader.push(chunk);
  };
  const side = (other: () => Pipe): Pipe =>
    new Duplex({
      ...options,
      read(this: Pipe) {
        release(this);
      },
      write: (chunk: unknown, _encoding: unknown, done: () => void) => pass(other(), chunk, done),
      final: (done: () => void) => {
        other().on("end", done);
        other().push(null);
      },
    }) as Pipe;
  const pair: readonly [Pipe, Pipe] = [side(() => pair[1]), side(() => pair[0])];
  return pair;
};

// The package keeps the default for the whole realm, and so for later calls.
classes["setDefaultHighWaterMark"] = function setDefaultHighWaterMark(): never {
  throw library.refusal("stream", "setDefaultHighWaterMark");
};

export const shared = classes;
// Only an error leads to its class: the package makes one for each code.
export const hidden = [promises, errors];

type Stream = {
  iterator?: () => object;
  write?: (chunk: string) => unknown;
  [Symbol.asyncIterator]?: () => object;
};
export function samples(): readonly unknown[] {
  const options = { read: () => undefined, write: () => undefined, transform: () => undefined };
  const made = ["Readable", "Writable", "Duplex", "Transform", "PassThrough"].map((name) => {
    return new (classes[name] as new (options: object) => Stream)(options);
  });
  // A stream in use leads to functions that the package keeps for itself.
  for (const one of made) one.write?.("a");
  const from = (classes["Readable"] as unknown as { from(list: unknown[]): Stream }).from([]);
  // The class of pairs is one that the package does not export. Only the class: a pair without a readable side has no
  // work, but its parts continue to change.
  const { Duplex } = classes as unknown as { Duplex: { from(parts: object): Stream } };
  const writable = new (classes["Writable"] as new (options: object) => Stream)(options);
  const pairs: unknown = Object.getPrototypeOf(Duplex.from({ writable }));
  return [...made, from, from.iterator?.(), pairs];
}
