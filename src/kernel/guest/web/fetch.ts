import type { AbortState } from "./abort-state.ts";
import { encodeBase64 } from "./base64-bytes.ts";
import { Body } from "./body.ts";
import { readBytes } from "./byte-stream.ts";
import { isFileUrl, readBundleFile } from "./bundle-file.ts";
import { type DataUrl, isDataUrl, readDataUrl } from "./data-url.ts";
import { type Arrived, ArrivingBody, chunkOf, Exchange, type Part, unlessAborted } from "./exchange.ts";
import { HeaderList } from "./header-list.ts";
import { type FetchCall, realmParts } from "./realm-parts.ts";
import { newRequestState, type Request } from "./request.ts";
import type { RequestInit, RequestState } from "./request-state.ts";
import { isBodiless, type Response, responseOf } from "./response.ts";
import { Utf8Decoder } from "./utf8.ts";

/** Maximum size of a request's body, in bytes: it is buffered before it is sent. */
const BODY_MAX_BYTES = 32 * 1024 * 1024;

const NO_FILE =
  'the tool did not bring this file: only those that a module names by new URL("./name", import.meta.url) or ' +
  'join(__dirname, "name"), written out, are there';

/** The host's response, sent once the headers are known. */
interface Answer {
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly redirected: boolean;
  /** Whether it is a redirect that must not be followed. */
  readonly opaque: boolean;
  readonly body: Arrived | null;
}

type Fetch = (input: string | Request, ...[init]: [init?: RequestInit | null]) => Promise<Response>;

/** Sends a request of the call whose turn it is. */
export const fetch: Fetch = (input, ...[init]) => fetchFor(realmParts().currentCall(), input, init);

/** `fetch` of one call, also in the turns of others. */
export function fetchOf(call: FetchCall): Fetch {
  return (input, ...[init]) => fetchFor(call, input, init);
}

/** Sends a request through the host, which decides whether the call is allowed to. */
async function fetchFor(
  call: FetchCall | null,
  input: string | Request,
  init: RequestInit | null | undefined,
): Promise<Response> {
  const request = newRequestState(input, init);
  const { abortStates } = realmParts();
  const given = request.signal === null ? undefined : abortStates.get(request.signal);
  if (given?.aborted) throw given.reason;
  if (isDataUrl(request.url)) return responseOfData(request, readDataUrl(request.url), "the data: URL is malformed");
  if (isFileUrl(request.url)) return responseOfData(request, readBundleFile(request.url, call), NO_FILE);
  if (!/^https?:/.test(request.url)) throw new TypeError("fetch failed", { cause: new TypeError("unknown scheme") });
  // A request by code that an ended call left behind never settles.
  if (call === null || call.settled) return new Promise(() => undefined);
  const signal = given?.follower() ?? null;
  const body = await unlessAborted(signal, partOf(request));
  const exchange = new Exchange(call, signal);
  const answer = (await exchange.ask("request", messageOf(request, body), "fetch failed")) as Answer;
  return responseFrom(answer, exchange, signal);
}

/** The response to a URL with its own content, which needs no host. */
function responseOfData({ url, method }: RequestState, data: DataUrl | undefined, problem: string): Response {
  if (data === undefined) throw new TypeError("fetch failed", { cause: new TypeError(problem) });
  const headers = new HeaderList([["content-type", data.type]], true);
  const body = method === "HEAD" ? null : new Body({ kind: "whole", chunk: data.bytes });
  return responseOf({ type: "basic", url, status: 200, statusText: "OK", redirected: false, headers, body });
}

function messageOf({ url, method, headers, redirect }: RequestState, body: Part | null): object {
  const hash = url.indexOf("#");
  return { url: hash < 0 ? url : url.slice(0, hash), method, headers: headers.entries, body, redirect };
}

/** The transmitted form of a request's body: text if possible, because the host replaces secrets only in text. */
async function partOf({ body }: RequestState): Promise<Part | null> {
  if (body === null) return null;
  const text = body.takeText();
  if (text !== undefined) return { text };
  const bytes = await readBytes(body.take(), BODY_MAX_BYTES);
  try {
    return { text: new Utf8Decoder(true).decode(bytes, true) };
  } catch {
    return { base64: encodeBase64(bytes) };
  }
}

function responseFrom(answer: Answer, exchange: Exchange, signal: AbortState | null): Response {
  const { url, status, statusText, redirected, opaque } = answer;
  const headers = new HeaderList(answer.headers, true);
  const type = opaque ? "opaqueredirect" : "basic";
  const hasBody = answer.body !== null && !isBodiless(status);
  if (answer.body === null) exchange.end();
  else if (!hasBody) exchange.cancel();
  const body = answer.body === null || !hasBody ? null : bodyFrom(answer.body, exchange, signal);
  return responseOf({ type, url, status, statusText, redirected, headers, body });
}

/** The body of a response. One with a signal is read in chunks even if it is complete: its signal may still abort. */
function bodyFrom(arrived: Arrived, exchange: Exchange, signal: AbortState | null): Body {
  if (arrived.more || signal !== null) {
    return new Body({ kind: "chunks", chunks: new ArrivingBody(exchange, signal, arrived) });
  }
  return new Body({ kind: "whole", chunk: arrived.part === null ? "" : chunkOf(arrived.part) });
}
