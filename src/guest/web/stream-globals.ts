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

/** The globals of the streams standard, by name. */
export type StreamGlobals = ReturnType<typeof createGlobals>;

/** The part of a realm with the classes of streams. */
export interface StreamPart {
  readonly globals: StreamGlobals;
  /** Prototypes that tools can get hold of, though no property of a global leads to them. */
  readonly hidden: readonly object[];
  /** What a stream shows on a console; `undefined` for every other object. */
  readonly show: (value: object) => object | undefined;
}

/** Makes the classes of streams for a realm; what is hidden is looked for only where the realm will be frozen. */
export function createStreamPart(text: TextClasses, hardened: boolean): StreamPart {
  const globals = createGlobals(text);
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(value, "name", { value: name, configurable: true });
  }
  const classes = Object.values(globals);
  // The properties of a stream are its state, which nobody can read.
  const show = (value: object) => {
    if (value instanceof ReadableStream || value instanceof WritableStream) {
      return { locked: value.locked, state: Reflect.get(value, "_state") as unknown };
    }
    return classes.some((Class) => value instanceof Class) ? {} : undefined;
  };
  return { globals, hidden: hardened ? hiddenObjects() : [], show };
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

/** How many prototypes there are in streams: the streams' own, and those of what they are made of. */
const PROTOTYPES = 23;

/** The streams keep their state in properties: whoever has one finds the prototypes of what is in there. */
function hiddenObjects(): object[] {
  const strategies = [CountQueuingStrategy, ByteLengthQueuingStrategy];
  const sizes = strategies.map((Strategy) => new Strategy({ highWaterMark: 1 }).size);
  const prototypes = prototypesWithin(sampleStreams());
  // On a full stack a promise swallows that a part of a stream could not be made: then all is made anew later.
  if (prototypes.length < PROTOTYPES) throw new RangeError("the streams could not be made whole");
  return [...sizes, ...prototypes];
}

/** Streams in the middle of what they can do, where nothing ever goes on. */
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
  // It comes to what is added on the way.
  seen.forEach((object) => {
    const prototype: unknown = Object.getPrototypeOf(object);
    if (typeof prototype === "object" && prototype !== null) prototypes.add(prototype);
    for (const { value } of Object.values(Object.getOwnPropertyDescriptors(object)) as { value?: unknown }[]) {
      if (typeof value === "object" && value !== null) seen.add(value);
    }
  });
  return [...prototypes];
}
