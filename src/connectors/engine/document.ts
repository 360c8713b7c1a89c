import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { GloveboxError } from "../../kernel/base/errors.ts";
import {
  Connections,
  type FetchOptions,
  PrivateAddressError,
} from "../../kernel/broker/capabilities/fetch/connections.ts";
import { boundedPieces } from "../../kernel/broker/capabilities/fetch/decoding.ts";
import { FetchFailure } from "../../kernel/broker/capabilities/fetch/failure.ts";
import type { DocumentPlace } from "../tool/options.ts";
import { DOCUMENT_MAX } from "../tool/read-connector.ts";
import { shortText } from "../tool/remote-tool.ts";

const FETCH_MS = 20_000;
const ACCEPT = "application/json, application/yaml, application/vnd.oai.openapi, */*";
const STATUS = { ok: 200, redirect: 300, wrong: 400, busy: 429, failed: 500 } as const;
const SHOWN_MAX = 200;

/** A document in the pieces in which it arrived: the thread is not blocked for all of it. */
interface Collected {
  readonly bytes: readonly Buffer[];
  readonly digest: string;
}

/**
 * The bytes of a connector's document. Rejects with a `GloveboxError` that names the connector: `capability_failed` if
 * its server is down, which may be temporary, else `load_error`.
 */
export async function readDocument(
  name: string,
  place: DocumentPlace,
  options: FetchOptions,
): Promise<readonly Buffer[]> {
  const where = `connectors.${name}.openapi.${place.kind === "file" ? "document" : "url"}`;
  const read = place.kind === "file" ? readWhole(where, place.path) : fetchWhole(where, place, options);
  const { bytes, digest } = await read;
  if (place.kind === "url" && place.pin !== null && place.pin !== digest) {
    throw refused(where, `is another document than its pin names: ${digest}; read it, and change the pin`);
  }
  return bytes;
}

async function readWhole(where: string, path: string): Promise<Collected> {
  try {
    return await collect(where, createReadStream(path));
  } catch (error) {
    throw error instanceof GloveboxError ? error : refused(where, `cannot be read: ${codeOf(error)}`);
  }
}

/** Follows no redirect: only the operator's URL is read. */
async function fetchWhole(
  where: string,
  { url, isPrivate }: Extract<DocumentPlace, { readonly kind: "url" }>,
  options: FetchOptions,
): Promise<Collected> {
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
    if (statusCode === STATUS.ok) return await collect(where, body);
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

async function collect(where: string, stream: AsyncIterable<unknown>): Promise<Collected> {
  const hash = createHash("sha256");
  const bytes: Buffer[] = [];
  const tooLong = () => refused(where, `has more than ${DOCUMENT_MAX} bytes`);
  for await (const part of boundedPieces(stream, DOCUMENT_MAX, tooLong)) {
    hash.update(part);
    bytes.push(part);
  }
  return { bytes, digest: `sha256:${hash.digest("hex")}` };
}

function codeOf(error: unknown): string {
  if (error instanceof FetchFailure) return error.message;
  if (!(error instanceof Error)) return "it cannot be read";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

function down(where: string, problem: string): GloveboxError {
  return new GloveboxError("capability_failed", `${where} ${problem}`);
}

function refused(where: string, problem: string): GloveboxError {
  return new GloveboxError("load_error", `${where} ${problem}`);
}
