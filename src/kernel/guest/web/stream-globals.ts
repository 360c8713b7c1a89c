import {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from "web-streams-polyfill";
import { createTextStreams, type TextClasses } from "./text-streams.ts";
import { provideTransfer, type TransferBuffer } from "./transfer.ts";

/** The globals of the Streams Standard, by name. */
export type StreamGlobals = ReturnType<typeof createGlobals>;

/** The part of a realm with the classes of streams. */
export interface StreamPart {
  readonly globals: StreamGlobals;
  /** Prototypes that tools can reach, though no property of a global leads to them. */
  readonly hidden: readonly object[];
  /** Console representation of a stream; `undefined` for any other object. */
  readonly show: (value: object) => object | undefined;
}

/** Creates the stream classes for a realm. Collects hidden objects only if the realm will be frozen. */
export function createStreamPart(text: TextClasses, transfer: TransferBuffer, hardened: boolean): StreamPart {
  provideTransfer(transfer);
  const globals = createGlobals(text);
  extendAsyncIterator();
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(value, "name", { value: name, configurable: true });
  }
  const classes = Object.values(globals);
  // Shown instead of a stream's properties, which are unreadable internal state.
  const show = (value: object) => {
    if (value instanceof ReadableStream || value instanceof WritableStream) {
      return { locked: value.locked, state: Reflect.get(value, "_state") as unknown };
    }
    return classes.some((Class) => value instanceof Class) ? {} : undefined;
  };
  return { globals, hidden: hardened ? hiddenObjects() : [], show };
}

/** The iterators of streams inherit from the prototype of all async iterators, which makes them iterable. */
function extendAsyncIterator(): void {
  const prototype: object = Object.getPrototypeOf(new ReadableStream().values());
  Reflect.deleteProperty(prototype, Symbol.asyncIterator);
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype));
}

function createGlobals(text: TextClasses) {
  return {
    ReadableStream,
    ReadableStreamDefaultReader,
    ReadableStreamBYOBReader,
    ReadableStreamDefaultController,
    ReadableByteStreamController,
    ReadableStreamBYOBRequest,
    WritableStream,
    WritableStreamDefaultWriter,
    WritableStreamDefaultController,
    TransformStream,
    TransformStreamDefaultController,
    ByteLengthQueuingStrategy,
    CountQueuingStrategy,
    ...createTextStreams(text),
  };
}

/** Number of prototypes in streams: their own, and those of their internal objects. */
const PROTOTYPES = 23;

/** Objects that tools reach through a stream, because it keeps its state in properties. */
function hiddenObjects(): object[] {
  const strategies = [CountQueuingStrategy, ByteLengthQueuingStrategy];
  const sizes = strategies.map((Strategy) => new Strategy({ highWaterMark: 1 }).size);
  const prototypes = prototypesWithin(sampleStreams());
  // With a full stack, a promise swallows an error of creating an internal object. Throw, so that all is retried later.
  if (prototypes.length < PROTOTYPES) throw new RangeError("the streams could not be made whole");
  return [...sizes, ...prototypes];
}

/** Streams in the middle of every operation, all of which stay pending. */
function sampleStreams(): object[] {
  const never = () => new Promise<never>(() => undefined);
  const open = () => new ReadableStream({ start: never });
  const [read, iterated, piped] = [open(), open(), open()];
  const iterator = iterated.values();
  const bytes = new ReadableStream({ start: never, type: "bytes" });
  const written = new WritableStream({ start: never });
  const source = new ReadableStream({ start: (controller) => controller.enqueue(1) });
  void read.getReader().read();
  void iterator.next();
  void bytes.getReader({ mode: "byob" }).read(new Uint8Array(1));
  void piped.pipeTo(new WritableStream({ write: never }));
  void written.getWriter().write(1);
  return [read, iterated, iterator, bytes, piped, written, source, new TransformStream({ start: never })];
}

function prototypesWithin(samples: readonly object[]): object[] {
  const seen = new Set<object>(samples);
  const prototypes = new Set<object>();
  // `forEach` of a set also visits objects added during the walk.
  seen.forEach((object) => {
    const prototype: unknown = Object.getPrototypeOf(object);
    if (typeof prototype === "object" && prototype !== null) prototypes.add(prototype);
    for (const { value } of Object.values(Object.getOwnPropertyDescriptors(object)) as { value?: unknown }[]) {
      if (typeof value === "object" && value !== null) seen.add(value);
    }
  });
  return [...prototypes];
}
