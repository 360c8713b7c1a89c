import { Blob, blobBytes, File } from "./blob.ts";
import { FormData, formEntries } from "./form-data.ts";
import { headerListOf, Headers } from "./headers.ts";
import { Request, requestState } from "./request.ts";
import { Response, responseState } from "./response.ts";

/**
 * Console representation of an object: these classes keep their state in private fields. `undefined` for any other
 * object. Throws for an object that only inherits from such a class.
 */
export function showFetchObject(value: object): object | undefined {
  if (value instanceof Headers) return { __proto__: null, ...Object.fromEntries(headerListOf(value).sorted) };
  if (value instanceof FormData) {
    return { fields: formEntries(value).map(([name, field]) => ({ name, value: field })) };
  }
  if (value instanceof Blob) return showBlob(value);
  if (value instanceof Request) {
    const { method, url, redirect, body } = requestState(value);
    return { method, url, headers: value.headers, redirect, bodyUsed: body?.isUsed ?? false };
  }
  if (value instanceof Response) {
    const { status, statusText, url, redirected, type, body } = responseState(value);
    const ok = status >= 200 && status <= 299;
    return { status, statusText, ok, url, redirected, type, headers: value.headers, bodyUsed: body?.isUsed ?? false };
  }
  return undefined;
}

function showBlob(value: Blob): object {
  const size = blobBytes(value)?.length ?? 0;
  const { type } = value;
  return value instanceof File ? { size, type, name: value.name, lastModified: value.lastModified } : { size, type };
}
