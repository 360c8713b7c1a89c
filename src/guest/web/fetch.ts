import { encodeBase64 } from "./base64-bytes.ts";
import { Body } from "./body.ts";
import { readBytes } from "./byte-stream.ts";
import { isDataUrl, readDataUrl } from "./data-url.ts";
import { type Arrived, ArrivingBody, Exchange, type Part } from "./exchange.ts";
import { HeaderList } from "./header-list.ts";
import { realmParts } from "./realm-parts.ts";
import { Request, requestState } from "./request.ts";
import type { RequestInit, RequestState } from "./request-state.ts";
import { isBodiless, type Response, responseOf } from "./response.ts";
import { Utf8Decoder } from "./utf8.ts";

/** Maximum size of a request's body, in bytes: it is buffered before it is sent. */
const BODY_MAX_BYTES = 32 * 1024 * 1024;

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

/** Sends a request through the host, which decides whether the call is allowed to. */
export async function fetch(input: string | Request, ...[init]: [init?: RequestInit | null]): Promise<Response> {
  const request = requestState(new Request(input, init));
  request.signal.throwIfAborted();
  if (isDataUrl(request.url)) return responseOfData(request.url);
  const { abortStates, currentCall } = realmParts();
  const call = currentCall();
  const signal = abortStates.get(request.signal);
  // A request by code that an ended call left behind never settles.
  if (call === null || call.settled || signal === undefined) return new Promise(() => undefined);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => undefined);
  const abort = () => reject(signal.reason);
  signal.steps.add(abort);
  try {
    const body = await Promise.race([aborted, partOf(request)]);
    const exchange = new Exchange(call, signal);
    const answer = (await exchange.ask("request", messageOf(request, body), "fetch failed")) as Answer;
    return responseFrom(answer, exchange, signal);
  } finally {
    signal.steps.delete(abort);
  }
}

/** The response to a `data:` URL, which needs no host. */
function responseOfData(url: string): Response {
  const data = readDataUrl(url);
  if (data === undefined) throw new TypeError("fetch failed", { cause: new TypeError("the data: URL is malformed") });
  const headers = new HeaderList([["content-type", data.type]], true);
  const body = new Body({ kind: "whole", chunk: data.bytes });
  return responseOf({ type: "basic", url, status: 200, statusText: "OK", redirected: false, headers, body });
}

function messageOf({ url, method, headers, redirect }: RequestState, body: Part | null): object {
  const hash = url.indexOf("#");
  return { url: hash < 0 ? url : url.slice(0, hash), method, headers: headers.entries, body, redirect };
}

/** A request's body as it is sent: as text if possible, because the host replaces secrets only in text. */
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

function responseFrom(answer: Answer, exchange: Exchange, signal: ConstructorParameters<typeof Exchange>[1]): Response {
  const { url, status, statusText, redirected, opaque } = answer;
  const headers = new HeaderList(answer.headers, true);
  const type = opaque ? "opaqueredirect" : "basic";
  const hasBody = answer.body !== null && !isBodiless(status);
  if (answer.body === null) exchange.end();
  else if (!hasBody) exchange.cancel();
  const chunks = answer.body === null || !hasBody ? null : new ArrivingBody(exchange, signal, answer.body);
  const body = chunks === null ? null : new Body({ kind: "chunks", chunks });
  return responseOf({ type, url, status, statusText, redirected, headers, body });
}
