import { isObject } from "./arguments.ts";
import { bytesOf } from "./buffer-source.ts";
import type { Chunk, ChunkSource } from "./byte-stream.ts";
import { realmParts } from "./realm-parts.ts";

/** Bodies outside of the standard that Node's `fetch` or libraries for it accept: Node's streams, and generators. */

/** A stream of Node's before its version 10, as the package `form-data` still makes them. */
interface OldStream {
  on(event: "data" | "end" | "error", listener: (value: unknown) => void): unknown;
  readonly pause?: () => void;
  readonly resume?: () => void;
  readonly destroy?: () => void;
  readonly getBoundary?: () => unknown;
}

/** The pieces of a body that is such an object, and its content type; `undefined` for any other value. */
export function piecesOf(init: unknown): { readonly chunks: ChunkSource; readonly type: string | null } | undefined {
  if (isIterable(init)) return { chunks: chunksOf(init), type: null };
  if (!isOldStream(init)) return undefined;
  const type = init.getBoundary === undefined ? null : `multipart/form-data; boundary=${String(init.getBoundary())}`;
  return { chunks: chunksOf(opened(init)), type };
}

function isIterable(init: unknown): init is AsyncIterable<unknown> {
  return isObject(init) && typeof Reflect.get(init, Symbol.asyncIterator) === "function";
}

function isOldStream(init: unknown): init is OldStream {
  return isObject(init) && ["pipe", "on"].every((name) => typeof Reflect.get(init, name) === "function");
}

function chunksOf(iterable: AsyncIterable<unknown>): ChunkSource {
  const pieces = checked(iterable);
  return {
    next: async () => (await pieces.next()).value as Chunk | undefined,
    cancel: () => void pieces.return().catch(() => undefined),
  };
}

/** Ends the iteration also if a piece is refused. */
async function* checked(iterable: AsyncIterable<unknown>): AsyncGenerator<Chunk, void, void> {
  for await (const piece of iterable) {
    const chunk = typeof piece === "string" ? piece.toWellFormed() : bytesOf(piece)?.slice();
    if (chunk === undefined) throw new TypeError("The pieces of a body have to be texts or Uint8Arrays");
    yield chunk;
  }
}

/** Makes such a stream readable: it flows only while a piece is awaited, if it can pause. */
function opened(stream: OldStream): AsyncIterable<unknown> {
  const { ReadableStream } = realmParts().streams();
  const source = {
    start(controller: { enqueue(piece: unknown): void; close(): void; error(reason: unknown): void }) {
      stream.on("data", (piece) => {
        controller.enqueue(piece);
        stream.pause?.();
      });
      stream.on("end", () => controller.close());
      stream.on("error", (reason) => controller.error(reason));
    },
    pull: () => stream.resume?.(),
    cancel: () => stream.destroy?.(),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
