import { Buffer } from "./buffer.ts";
import { type NodeModule, shareGlobals } from "./inner/library.ts";
import { STREAM_NAMES } from "../web/names.ts";

/** `node:stream/web` and `node:stream/consumers`. */

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

export const modules: { readonly [name: string]: NodeModule } = { "stream/web": web, "stream/consumers": consumers };
