import { Blob, blobBytes, blobOf, File, fileOf } from "./blob.ts";
import { fetch, fetchOf } from "./fetch.ts";
import { FormData } from "./form-data.ts";
import { Headers } from "./headers.ts";
import { provideParts, type RealmParts } from "./realm-parts.ts";
import { Request } from "./request.ts";
import { Response } from "./response.ts";
import { showFetchObject } from "./show-fetch.ts";

/** The globals of the Fetch Standard and related classes, by name. */
export type FetchGlobals = ReturnType<typeof createGlobals>;

/** The part of a realm with `fetch` and its classes. */
export interface FetchPart {
  readonly globals: FetchGlobals;
  /** `fetch` of one call, also in the turns of others. */
  readonly fetchOf: typeof fetchOf;
  /** Console representation of an object of these classes; `undefined` for any other. */
  readonly show: (value: object) => object | undefined;
}

/** Creates `fetch` and its classes for a realm. */
export function createFetchPart(parts: RealmParts): FetchPart {
  provideParts(parts);
  const globals = createGlobals();
  for (const [name, value] of Object.entries(globals)) {
    // A bundler may have renamed a class because of others with its name.
    Object.defineProperty(value, "name", { value: name, configurable: true });
  }
  parts.cloneRules.refuse(Headers, Request, Response, FormData);
  parts.cloneRules.copy(copyBlob);
  return { globals, fetchOf, show: showFetchObject };
}

function createGlobals() {
  return { fetch, Headers, Request, Response, Blob, File, FormData };
}

function copyBlob(value: object): object | undefined {
  const bytes = blobBytes(value);
  if (bytes === undefined) return undefined;
  const blob = blobOf(bytes, (value as Blob).type);
  return value instanceof File ? fileOf(blob, value.name, value.lastModified) : blob;
}
