import { hash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { GloveboxError } from "../../kernel/base/errors.ts";
import {
  Connections,
  type FetchOptions,
  PrivateAddressError,
} from "../../kernel/broker/capabilities/fetch/connections.ts";
import type { DocumentPlace } from "../tool/options.ts";
import { DOCUMENT_MAX } from "../tool/read-connector.ts";
import { shortText } from "../tool/remote-tool.ts";

const FETCH_MS = 20_000;
const ACCEPT = "application/json, application/yaml, application/vnd.oai.openapi, */*";
const STATUS = { ok: 200, redirect: 300, wrong: 400, busy: 429, failed: 500 } as const;
const SHOWN_MAX = 200;

/**
 * The text of a connector's document. Rejects with a `GloveboxError` that names the connector: `capability_failed` where its
 * server is down, which may end, else `load_error`.
 */
export async function readDocument(name: string, place: DocumentPlace, options: FetchOptions): Promise<string> {
  const where = `connectors.${name}.openapi.${place.kind === "file" ? "document" : "url"}`;
  const bytes = place.kind === "file" ? await readWhole(where, place.path) : await fetchWhole(where, place, options);
  const digest = `sha256:${hash("sha256", bytes)}`;
  if (place.kind === "url" && place.pin !== null && place.pin !== digest) {
    throw refused(where, `is another document than its pin names: ${digest}; read it, and change the pin`);
  }
  return bytes.toString("utf8");
}

async function readWhole(where: string, path: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size <= DOCUMENT_MAX) return await readFile(path);
  } catch (error) {
    throw refused(where, `cannot be read: ${codeOf(error)}`);
  }
  throw tooLarge(where);
}

/** Follows no redirect: the operator's URL is the one that is read. */
async function fetchWhole(
  where: string,
  { url, isPrivate }: Extract<DocumentPlace, { readonly kind: "url" }>,
  options: FetchOptions,
): Promise<Buffer> {
  const connections = new Connections(options);
  try {
    const { origin, pathname, search } = new URL(url);
    const agent = await connections.agent(isPrivate);
    const { statusCode, headers, body } = await agent.request({
      origin,
      path: pathname + search,
      method: "GET",
      headers: { accept: ACCEPT, "accept-encoding": "identity", "user-agent": "glovebox" },
      signal: AbortSignal.timeout(FETCH_MS),
    });
    if (statusCode === STATUS.ok) return await readBody(where, body);
    const isDown = statusCode === STATUS.busy || statusCode >= STATUS.failed;
    const isRedirect = statusCode >= STATUS.redirect && statusCode < STATUS.wrong;
    const more = isRedirect ? redirectOf(url, headers["location"]) : "";
    throw (isDown ? down : refused)(where, `was answered with HTTP ${statusCode}${more}`);
  } catch (error) {
    if (error instanceof GloveboxError) throw error;
    throw (error instanceof PrivateAddressError ? refused : down)(where, `cannot be read: ${codeOf(error)}`);
  } finally {
    await connections.close();
  }
}

/** A redirect in words, without its query: that may be a secret. */
function redirectOf(url: string, location: unknown): string {
  const target = typeof location === "string" ? URL.parse(location, url) : null;
  const to = target === null ? "" : ` to ${shortText(target.origin + target.pathname, SHOWN_MAX)}`;
  return `, a redirect${to}, which is not followed; name the URL at which the document is`;
}

async function readBody(where: string, body: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > DOCUMENT_MAX) throw tooLarge(where);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "it cannot be read";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

function tooLarge(where: string): GloveboxError {
  return refused(where, `has more than ${DOCUMENT_MAX} bytes`);
}

function down(where: string, problem: string): GloveboxError {
  return new GloveboxError("capability_failed", `${where} ${problem}`);
}

function refused(where: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `${where} ${problem}`);
}
