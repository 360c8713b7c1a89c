import { readFile, stat } from "node:fs/promises";
import { reasonOfFetch } from "../kernel/base/errno.ts";
import { parseForWriting } from "../kernel/base/exact-json.ts";
import { CliError, EXIT } from "./exit.ts";
import { visible } from "./output.ts";

/** A server to which a command sends requests over HTTP. */
export interface RemoteServer {
  /** Ends with a slash. */
  readonly url: URL;
  readonly key: string | undefined;
}

/** A request of a command to a server. */
export interface RemoteRequest {
  /** Relative to the server's address. */
  readonly path: string;
  readonly accept: string;
  /** Default GET. */
  readonly method?: "POST" | "PUT" | "DELETE";
  /** JSON. */
  readonly body?: string;
  readonly signal: AbortSignal;
  /** The role that the key needs. */
  readonly role: string;
  /** Noun for the answer, in the message for a server without this path. */
  readonly missing: string;
  /** Whether the server's own message explains a refusal with 403: missing roles are not the only reason. */
  readonly isForbiddenExplained?: boolean;
}

/** The server of `--url` and `--key-env`. Throws a `CliError` if either cannot be used. */
export function remoteServer(url: string, keyEnv: string | undefined): RemoteServer {
  return { url: addressOf(url), key: keyEnv === undefined ? undefined : keyFrom(keyEnv) };
}

function addressOf(text: string): URL {
  const url = URL.parse(text.endsWith("/") ? text : `${text}/`);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new CliError(EXIT.USAGE, "--url is an address that begins with http:// or https://");
  }
  if (url.username !== "" || url.password !== "") {
    throw new CliError(EXIT.USAGE, "--url holds no key: --key-env NAME says which variable does");
  }
  return url;
}

function keyFrom(name: string): string {
  const key = process.env[name];
  if (key === undefined || key === "") throw new CliError(EXIT.USAGE, `the environment has no key in ${name}`);
  return key;
}

/** Reasons that say that no server is there. */
const NOBODY: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND"]);

/** Sends a request. Rejects with a `CliError` if the server cannot be reached or refuses. */
export async function ask({ url, key }: RemoteServer, request: RemoteRequest): Promise<Response> {
  const { path, accept, signal, method = "GET", body } = request;
  const headers = {
    accept,
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const sent = { method, headers, signal, redirect: "error" as const, ...(body === undefined ? {} : { body }) };
  const response = await fetch(new URL(path, url), sent).catch((error: unknown) => {
    const reason = reasonOfFetch(error);
    const hint = NOBODY.has(reason) ? "; start a server there (glovebox serve), or name another with --url" : "";
    throw new CliError(EXIT.UNREACHABLE, `${url.origin} cannot be reached: ${reason}${hint}`);
  });
  if (response.ok) return response;
  const isExplained =
    EXPLAINED.has(response.status) || (response.status === 403 && request.isForbiddenExplained === true);
  if (isExplained) throw await explain(response, url.origin);
  await response.body?.cancel();
  const code = response.status === 401 || response.status === 403 ? EXIT.UNREACHABLE : EXIT.FAILED;
  throw new CliError(code, `${url.origin} answers with ${response.status}${advice(response.status, request, key)}`);
}

/** Statuses whose message from the server tells its caller, or its operator, what to change. */
const EXPLAINED: ReadonlySet<number> = new Set([400, 409, 413, 422, 429, 500, 503]);
const EXPLANATION_MAX = 64 * 1024;

async function explain(response: Response, origin: string): Promise<CliError> {
  let text = "";
  for await (const part of textOf(response)) {
    text += part;
    if (text.length > EXPLANATION_MAX) break;
  }
  const body = parseJson(text) as
    { readonly error?: { readonly message?: unknown }; readonly detail?: unknown } | undefined;
  const message = body?.error?.message ?? body?.detail;
  const said = typeof message === "string" ? `: ${visible(message)}` : "";
  return new CliError(exitOf(response.status), `${origin} answers with ${response.status}${said}`);
}

function exitOf(status: number): number {
  switch (status) {
    case 400:
      return EXIT.INVALID;
    case 403:
      return EXIT.UNREACHABLE;
    default:
      return EXIT.FAILED;
  }
}

function advice(status: number, { role, missing }: RemoteRequest, key: string | undefined): string {
  if (status === 401 && key !== undefined)
    return ": it does not know this key; check that it is whole, and that keys of the server's configuration has its hash";
  switch (status) {
    case 401:
    case 403:
      return `: it wants a key with the role ${role}; --key-env NAME says which variable holds one`;
    case 404:
      return `: it has no ${missing}, or is no server of Glovebox`;
    default:
      return "";
  }
}

/** The text of a response, as it comes. Throws a `CliError` if the connection is lost. */
export async function* textOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder();
  try {
    for await (const bytes of body as ReadableStream<Uint8Array<ArrayBuffer>>)
      yield decoder.decode(bytes, { stream: true });
  } catch (error) {
    throw new CliError(EXIT.UNREACHABLE, `the connection was lost: ${reasonOfFetch(error)}`);
  }
}

/**
 * The events of a stream, in batches as they arrive. Throws a `CliError` if one has more than `charsMax` characters:
 * then it is no `noun`.
 */
export async function* eventsOf(response: Response, charsMax: number, noun: string): AsyncGenerator<readonly string[]> {
  let rest = "";
  for await (const part of textOf(response)) {
    const events = (rest + part).split("\n\n");
    rest = events.pop() ?? "";
    if (rest.length > charsMax) throw tooLong(noun);
    if (events.length > 0) yield events;
  }
}

export function tooLong(noun: string): CliError {
  return new CliError(EXIT.FAILED, `the server's answer is too long for a ${noun}`);
}

/** The JSON of a response: written again, it has the digits of its long integers. Rejects with a `SyntaxError`. */
export async function readJson(response: Response): Promise<unknown> {
  return parseForWriting(await response.text());
}

export function parseJson(text: string): unknown {
  try {
    return parseForWriting(text);
  } catch {
    return undefined;
  }
}

/** Bytes of a file that a command sends to a server. */
const FILE_MAX = 256 * 1024;

/**
 * The text of a file that a command sends to a server. Rejects with a `CliError` if it cannot be read, or is too large.
 */
export async function readText(file: string): Promise<string> {
  try {
    if ((await stat(file)).size <= FILE_MAX) return await readFile(file, "utf8");
  } catch {
    throw new CliError(EXIT.USAGE, `${file} cannot be read`);
  }
  throw new CliError(EXIT.INVALID, `${file} has more than ${FILE_MAX} bytes`);
}
