import { Buffer } from "./buffer.ts";
import { nodeError } from "./inner/errors.ts";
import { library, type NodeModule, shareGlobals } from "./inner/library.ts";
import { type NodeReadable, type NodeWritable, readableToWeb, writableToWeb } from "./inner/web-streams.ts";
import { STREAM_NAMES } from "../web/names.ts";

/** `node:stream/web` with the web's streams that code and decode, and `node:stream/consumers`. */

type Chunks = AsyncIterable<Uint8Array | string>;

async function buffer(chunks: Chunks): Promise<unknown> {
  const { concat, from } = Buffer as unknown as {
    concat(list: unknown[]): Uint8Array;
    from(value: unknown): Uint8Array;
  };
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(typeof chunk === "string" ? from(chunk) : chunk);
  return concat(parts);
}

async function text(chunks: Chunks): Promise<string> {
  return new TextDecoder().decode((await buffer(chunks)) as Uint8Array);
}

const consumers: NodeModule = {
  buffer,
  text,
  json: async (chunks: Chunks) => JSON.parse(await text(chunks)) as unknown,
  arrayBuffer: async (chunks: Chunks) => {
    const { buffer: bytes, byteOffset, byteLength } = (await buffer(chunks)) as Uint8Array;
    return bytes.slice(byteOffset, byteOffset + byteLength);
  },
  bytes: async (chunks: Chunks) => new Uint8Array((await buffer(chunks)) as Uint8Array),
  blob: async (chunks: Chunks) => new Blob([(await buffer(chunks)) as Uint8Array<ArrayBuffer>]),
};

/** The realm's own classes, which are made when they are read. */
const web: NodeModule = {};
shareGlobals(web, STREAM_NAMES);

/** Names of `node:zlib` by the web's name of a format. */
const FORMATS: ReadonlyMap<unknown, readonly [coder: string, decoder: string]> = new Map([
  ["gzip", ["Gzip", "Gunzip"]],
  ["deflate", ["Deflate", "Inflate"]],
  ["deflate-raw", ["DeflateRaw", "InflateRaw"]],
]);

/** A coder of `node:zlib` as a pair of the web's streams. `at`: 0 to code, 1 to decode. */
function coder(format: unknown, at: 0 | 1): { readonly readable: object; readonly writable: object } {
  const name = FORMATS.get(format)?.[at];
  if (name === undefined)
    throw nodeError(
      TypeError,
      "ERR_INVALID_ARG_VALUE",
      `The format ${JSON.stringify(format)} is unknown: use one of ${[...FORMATS.keys()].join(", ")}`,
    );
  const zlib = library.state().require("zlib") as { readonly [name: string]: () => NodeReadable & NodeWritable };
  const stream = zlib[`create${name}`]?.() as NodeReadable & NodeWritable;
  const writable = writableToWeb({
    write: (chunk, done) => stream.write(chunk instanceof ArrayBuffer ? new Uint8Array(chunk) : chunk, done),
    end: (done) => stream.end(done),
    on: (event, listener) => stream.on(event, listener),
    destroy: (reason) => stream.destroy(reason),
  });
  return { readable: readableToWeb(stream), writable };
}

export class CompressionStream {
  readonly readable: object;
  readonly writable: object;

  constructor(format: unknown) {
    ({ readable: this.readable, writable: this.writable } = coder(format, 0));
  }
}

export class DecompressionStream {
  readonly readable: object;
  readonly writable: object;

  constructor(format: unknown) {
    ({ readable: this.readable, writable: this.writable } = coder(format, 1));
  }
}
Object.assign(web, { CompressionStream, DecompressionStream });

export const modules: { readonly [name: string]: NodeModule } = { "stream/web": web, "stream/consumers": consumers };
