import { errnoOf } from "../../kernel/base/errno.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { describeExcess, memberOf } from "../../kernel/base/json.ts";
import { readResponse, writeRequest } from "./chat-messages.ts";
import { ProviderError } from "./errors.ts";
import type { ModelProvider } from "./model.ts";

export interface ChatOptions {
  /** URL of the server: `http://127.0.0.1:11434`. `/v1` is appended if it has no path. */
  readonly host: string;
  /** Sent as a bearer token to this server only. */
  readonly apiKey?: string;
  /** Timeout of one response, in milliseconds. Default: 120,000. */
  readonly timeoutMs?: number;
  /** Maximum size of a response, in bytes. Default: 8 MiB. */
  readonly maxBytes?: number;
  /** Maximum number of retries of a temporarily failed request. Default: 2. */
  readonly retries?: number;
  /** Growth of the pauses between retries. Default: `exponential`, from 250 ms to 10 s. */
  readonly backoff?: "constant" | "exponential" | "jittered";
  /** Shortest and longest pause, in milliseconds. */
  readonly pauseMinMs?: number;
  readonly pauseMaxMs?: number;
}

const TIMEOUT_MS = 120_000;
const MAX_BYTES = 8 * 1024 * 1024;
const RETRIES = 2;
const FIRST_PAUSE_MS = 250;
const PAUSE_MAX_MS = 10_000;
/** Limit of `pauseMaxMs`. */
const PAUSE_LIMIT_MS = 300_000;
const MESSAGE_MAX = 500;

/** A raw response. */
interface Answer {
  readonly status: number;
  readonly text: string;
  /** Value of the `retry-after` header, in milliseconds. */
  readonly retryAfterMs: number;
}

/**
 * Model behind an endpoint that implements OpenAI's chat completions, such as ollama or vLLM. Throws a `ProviderError`
 * if `host` is no valid URL.
 */
export function chatProvider(options: ChatOptions): ModelProvider {
  const url = endpoint(options.host);
  return {
    async generate(messages, generation) {
      const body = writeRequest(messages, generation);
      const { status, text } = await persist(url, body, options, generation.signal);
      const value = parse(text);
      if (status === 200) return readResponse(value, generation);
      throw new ProviderError(`the model's server answered ${status}${reasonIn(value, options.apiKey)}`);
    },
  };
}

function endpoint(host: string): URL {
  const url = URL.parse(host);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new ProviderError("the model's host is no http address");
  if (url.username !== "" || url.password !== "") throw new ProviderError("the model's host must not hold a password");
  const base = url.pathname === "/" ? "/v1" : url.pathname.replace(/\/+$/, "");
  return new URL(`${base}/chat/completions`, url);
}

/** Pause before a retry, in milliseconds: at least what the server asks for, within the limit. */
function pauseBefore(attempt: number, askedMs: number, options: Omit<ChatOptions, "host">): number {
  const { backoff = "exponential", pauseMinMs = FIRST_PAUSE_MS, pauseMaxMs = PAUSE_MAX_MS } = options;
  const longest = Math.min(PAUSE_LIMIT_MS, Math.max(pauseMinMs, pauseMaxMs));
  const grown = Math.min(longest, backoff === "constant" ? pauseMinMs : pauseMinMs * 2 ** attempt);
  const own = backoff === "jittered" ? pauseMinMs + Math.random() * (grown - pauseMinMs) : grown;
  return Math.min(longest, Math.max(askedMs, own));
}

/** Retries temporary failures with pauses between them. */
async function persist(url: URL, body: string, options: ChatOptions, signal: AbortSignal | undefined): Promise<Answer> {
  const { retries = RETRIES } = options;
  for (let attempt = 0; ; attempt++) {
    const answer = await send(url, body, options, signal);
    const isLast = attempt >= retries;
    if (answer instanceof ProviderError) {
      if (isLast) throw answer;
    } else if (isLast || (answer.status !== 429 && answer.status < 500)) return answer;
    const asked = answer instanceof ProviderError ? 0 : answer.retryAfterMs;
    const pauseMs = pauseBefore(attempt, asked, options);
    await sleep(pauseMs, undefined, signal === undefined ? {} : { signal }).catch(() => signal?.throwIfAborted());
  }
}

/** Sends one request. Returns temporary errors; throws the others. */
async function send(
  url: URL,
  body: string,
  { apiKey, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES }: ChatOptions,
  signal: AbortSignal | undefined,
): Promise<Answer | ProviderError> {
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body,
      // A redirect must not carry the key to another server.
      redirect: "error",
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    const retryAfterMs = Number(response.headers.get("retry-after") ?? 0) * 1_000;
    const text = await readText(response, maxBytes);
    return { status: response.status, text, retryAfterMs: Number.isFinite(retryAfterMs) ? retryAfterMs : 0 };
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    signal?.throwIfAborted();
    if (deadline.aborted)
      throw new ProviderError(`the model's server at ${url.host} did not answer in ${timeoutMs} ms`);
    return new ProviderError(`the model's server at ${url.host} cannot be reached: ${causeOf(error)}`);
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new ProviderError(`the model's answer has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function parse(text: string): unknown {
  if (describeExcess(text) !== null) throw new ProviderError(`the model's answer is ${describeExcess(text)}`);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The server's error message in one line, with the key redacted: some servers echo it. */
function reasonIn(body: unknown, apiKey: string | undefined): string {
  const error = memberOf(body, "error");
  const message = typeof error === "string" ? error : memberOf(error, "message");
  if (typeof message !== "string" || message === "") return "";
  const discreet = apiKey === undefined ? message : message.replaceAll(apiKey, "[key]");
  return `: ${discreet.replaceAll(/\s+/g, " ").slice(0, MESSAGE_MAX)}`;
}

function causeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code = errnoOf(cause);
  if (code !== undefined) return code;
  return cause instanceof Error ? cause.message.slice(0, MESSAGE_MAX) : "the connection failed";
}
