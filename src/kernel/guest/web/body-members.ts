import type { ReadableStream } from "web-streams-polyfill";
import { type Blob, blobOf } from "./blob.ts";
import type { Body } from "./body.ts";
import { type ChunkSource, readBytes, readRawText, readText } from "./byte-stream.ts";
import { FormData } from "./form-data.ts";
import type { HeaderList } from "./header-list.ts";
import { extractMimeType, serializeMimeType } from "./mime-type.ts";
import { decodeMultipart } from "./multipart.ts";
import { parseQuery } from "./query-list.ts";

/** The body members of requests and responses. */
export interface BodyMembers {
  readonly body: ReadableStream | null;
  readonly bodyUsed: boolean;
  readonly text: () => Promise<string>;
  readonly json: () => Promise<unknown>;
  readonly arrayBuffer: () => Promise<ArrayBuffer>;
  readonly bytes: () => Promise<Uint8Array>;
  readonly blob: () => Promise<Blob>;
  readonly formData: () => Promise<FormData>;
}

/** The state that these members read. */
export interface BodyOwner {
  readonly body: Body | null;
  readonly headers: HeaderList;
}

const EMPTY: ChunkSource = { next: async () => undefined, cancel: () => undefined };

/** Defines the members on a prototype; `read` returns their state, and throws for objects of another class. */
export function defineBodyMembers(target: { readonly prototype: object }, read: (self: object) => BodyOwner): void {
  // Async methods: an exception, also that of `read`, rejects the promise.
  const members = {
    get body(): ReadableStream | null {
      return read(this).body?.stream ?? null;
    },
    get bodyUsed(): boolean {
      return read(this).body?.isUsed ?? false;
    },
    async text(): Promise<string> {
      return readText(take(read(this)));
    },
    async json(): Promise<unknown> {
      return JSON.parse(await readText(take(read(this)))) as unknown;
    },
    async arrayBuffer(): Promise<ArrayBuffer> {
      return (await readBytes(take(read(this)))).buffer as ArrayBuffer;
    },
    async bytes(): Promise<Uint8Array> {
      return readBytes(take(read(this)));
    },
    async blob(): Promise<Blob> {
      const owner = read(this);
      const type = extractMimeType(owner.headers.all("content-type"));
      const bytes = await readBytes(take(owner));
      return blobOf(bytes, type === undefined ? "" : serializeMimeType(type));
    },
    async formData(): Promise<FormData> {
      const owner = read(this);
      const type = extractMimeType(owner.headers.all("content-type"));
      const source = take(owner);
      switch (type?.essence) {
        case "multipart/form-data":
          return decodeMultipart(await readBytes(source), type.parameters.get("boundary"));
        case "application/x-www-form-urlencoded":
          return formOf(await readRawText(source));
        case undefined:
        default:
          // An error of the body itself comes first.
          await readBytes(source);
          throw new TypeError("The content-type of the body is no form's");
      }
    },
  };
  Object.defineProperties(target.prototype, Object.getOwnPropertyDescriptors(members));
}

function take({ body }: BodyOwner): ChunkSource {
  return body?.take() ?? EMPTY;
}

function formOf(text: string): FormData {
  const form = new FormData();
  for (const [name, value] of parseQuery(text)) form.append(name, value);
  return form;
}
