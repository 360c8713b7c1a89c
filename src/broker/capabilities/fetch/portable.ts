import { isObject } from "../../../base/json.ts";
import type { Portable } from "../capability.ts";
import { hasPlaceholder } from "../secrets/placeholders.ts";

/** Methods of HTTP that may be sent twice, and change nothing. */
const READING: ReadonlySet<unknown> = new Set(["GET", "HEAD"]);

/** Of requests those can be sent by another process that only read, and in which no secret is to be put. */
export function portableRequest(method: string, args: unknown): Portable | null {
  if (!isObject(args) || typeof args["id"] !== "number") return null;
  const of = `${args["id"]}`;
  if (method !== "request") return { kind: "sequel", of };
  const { url, method: name, headers, body } = args;
  if (!READING.has(name) || body !== null || typeof url !== "string" || !Array.isArray(headers)) return null;
  const texts = [url, ...(headers as readonly unknown[]).flat()];
  return texts.some((text) => typeof text !== "string" || hasPlaceholder(text)) ? null : { kind: "opening", of };
}
