import { resolve } from "node:path";
import { isObject } from "../../kernel/base/json.ts";
import { count } from "../../kernel/base/limits.ts";
import { isPrivateHost } from "../../kernel/broker/capabilities/fetch/connections.ts";
import { patternBelow } from "../capability/permission.ts";
import type { NamedValue } from "../capability/route.ts";
import { type RateLimit, RateLimiter } from "../../kernel/broker/capabilities/rate-limit.ts";
import { checkMembers, type ConnectorAuth, NO_AUTH, resolveAuth } from "./auth-options.ts";
import type { LoginSettings } from "../login/settings.ts";
import { type OperationUndos, resolveUndos } from "./undo-options.ts";
import { type ProcessFolders, type ProcessWalls, resolveWalls, WALLS } from "./mcp/process-walls.ts";
import type { ToolUndo } from "../../kernel/tool/definition.ts";
import { placeholderOf } from "../../kernel/broker/capabilities/secrets/secrets.ts";

/** Options that all connectors have. */
export interface ConnectorSettings {
  /** Names of its operations that become tools, each of which may have `*` in it. Default: all. */
  readonly tools?: readonly string[];
  /**
   * Digest of the names, descriptions and schemas of its tools, as `glovebox connectors check` prints it. Another list is
   * not taken in.
   */
  readonly pin?: string;
  /** Calls of each tenant in a period: more wait, within their time. Default: no limit. */
  readonly rateLimit?: RateLimit;
  /** Maximum number of simultaneous requests; more wait. Default 16. */
  readonly concurrency?: number;
  /** Time for one request, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** The tools that undo its operations, by the names of the operations. Default: none. */
  readonly undo?: { readonly [operation: string]: ToolUndo };
  /** `none`: tools have no descriptions of the server. */
  readonly descriptions?: "none";
  /**
   * Whether its server may have an address that is not public. Default: only if its URL in these options, or that of
   * its document with the same host, has such an address, or `localhost`, as host.
   */
  readonly private?: boolean;
}

/** An MCP server. Values of headers and of variables may contain `{secret:NAME}`. */
export interface McpConnector extends ConnectorSettings {
  readonly mcp: McpHttpServer | McpProcess;
  /** Authentication of requests to a server of Streamable HTTP. */
  readonly auth?: ConnectorAuth;
  /** Whether tools that the server calls read-only or idempotent are. Default: false. */
  readonly trustAnnotations?: boolean;
}

/** A server of Streamable HTTP. */
export interface McpHttpServer {
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
}

/** A server that is a process of this machine. */
export interface McpProcess {
  readonly command: string;
  readonly args?: readonly string[];
  /** All of its environment besides `PATH`, `HOME` and `LANG`. */
  readonly env?: { readonly [name: string]: string };
  /** Working directory, by its path inside the sandbox. Default: a separate empty folder. */
  readonly cwd?: string;
  /**
   * Folders of this machine that it sees, by their paths inside its sandbox. `{ "/data": "ro" }` is the machine's folder
   * `/data`. Default: none.
   */
  readonly folders?: ProcessFolders;
  /** Whether it has the machine's network, unfiltered. Default: false. */
  readonly network?: boolean;
  /** `off`: it runs with the rights of the engine's process. Default `require`. */
  readonly sandbox?: "require" | "off";
}

/** A server with an OpenAPI document, version 3.0 to 3.2, or Swagger 2.0. Values of headers and of the query may contain `{secret:NAME}`. */
export interface OpenApiConnector extends ConnectorSettings {
  readonly openapi: {
    /** Path of the document, JSON or YAML. Either this or `url`. */
    readonly document?: string;
    /** URL of the document. */
    readonly url?: string;
    /**
     * `sha256:` and the digest of the document at the URL: a different document is refused. By default, any document is
     * accepted.
     */
    readonly pin?: string;
    /** URL of the server. Default: the document's first, which may be relative to `url`. */
    readonly server?: string;
    /**
     * Whether outputs are `{ body, headers }`, with the headers `link`, `etag`, `location`, `retry-after`, `x-total-count` and
     * those of rate limits. Default: false.
     */
    readonly headers?: boolean;
    /**
     * Mounts of the capability `fs` from which operations may send files: a file is `{ path: "/data/a.pdf" }` too. The policy
     * must allow the tools to read them. Default: none.
     */
    readonly mounts?: readonly string[];
  };
  /** Authentication of requests. */
  readonly auth?: ConnectorAuth;
  readonly headers?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string };
}

/** A server whose operations become tools `name.operation`. */
export type ConnectorOptions = McpConnector | OpenApiConnector;

/** The source of a connector's tools. Values may contain placeholders of secrets. */
export type ConnectorSource =
  | {
      readonly kind: "openapi";
      readonly document: DocumentPlace;
      readonly server: string | null;
      readonly hasHeaders: boolean;
      readonly mounts: readonly string[];
      readonly headers: readonly NamedValue[];
      readonly query: readonly NamedValue[];
    }
  | McpSource;

/** Place of a document. */
export type DocumentPlace =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "url"; readonly url: string; readonly pin: string | null; readonly isPrivate: boolean };

export type McpSource =
  | { readonly kind: "http"; readonly url: string; readonly headers: readonly NamedValue[] }
  | ({
      readonly kind: "process";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: readonly NamedValue[];
      readonly cwd: string | null;
    } & ProcessWalls);

/** A connector's options with all defaults. */
export interface ResolvedConnector {
  readonly name: string;
  readonly source: ConnectorSource;
  readonly tools: readonly string[] | null;
  readonly pin: string | null;
  readonly rateLimit: RateLimit | null;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly undos: OperationUndos;
  readonly hasDescriptions: boolean;
  readonly trustsAnnotations: boolean;
  readonly isPrivate: boolean;
  /** The source of its tokens; `null` without an `auth` of OAuth. */
  readonly login: LoginSettings | null;
}

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;
const SECRET = /\{secret:([A-Za-z0-9_]{1,64})\}/g;
const PIN = /^sha256:[0-9a-f]{64}$/;
const CONNECTORS_MAX = 100;
const LIST_MAX = 1_000;
const TEXT_MAX = 8_192;
const COMMON = ["tools", "pin", "rateLimit", "concurrency", "timeoutMs", "undo", "descriptions", "private", "auth"];
const TIMEOUT_MAX_MS = 600_000;

/** Throws a `TypeError` or a `RangeError` that names the option and its valid values. */
export function resolveConnectors(
  given: { readonly [name: string]: ConnectorOptions } | undefined,
): readonly ResolvedConnector[] {
  if (given === undefined) return [];
  if (!isObject(given)) throw new TypeError("connectors must be an object that maps names to connectors");
  const entries = Object.entries(given);
  if (entries.length > CONNECTORS_MAX) throw new RangeError(`at most ${CONNECTORS_MAX} connectors are allowed`);
  return entries.map(([name, options]) => resolveConnector(name, options));
}

function resolveConnector(name: string, options: unknown): ResolvedConnector {
  if (!NAME.test(name)) {
    throw new TypeError(
      `connectors: ${JSON.stringify(name.slice(0, 64))} is no name; a name has 1 to 32 letters, digits, - and _, and begins with a letter`,
    );
  }
  const where = `connectors.${name}`;
  if (!isObject(options) || "mcp" in options === "openapi" in options) {
    throw new TypeError(`${where} must be an object with either mcp or openapi`);
  }
  const given = "mcp" in options ? resolveMcp(where, options) : resolveOpenApi(where, options);
  const isPrivate = flag(`${where}.private`, options["private"]);
  const { source, login } = withAuth(given, options["auth"], { connector: name, where, isPrivate: isPrivate ?? false });
  const { pin, rateLimit, concurrency, timeoutMs, descriptions, trustAnnotations } = options;
  if (pin !== undefined && !(typeof pin === "string" && PIN.test(pin))) {
    throw new TypeError(
      `${where}.pin must be sha256: and 64 hexadecimal digits, as glovebox connectors check prints it`,
    );
  }
  if (descriptions !== undefined && descriptions !== "none")
    throw new TypeError(`${where}.descriptions must be "none"`);
  const time = count(`${where}.timeoutMs`, timeoutMs as number | undefined, 30_000, 1);
  if (time > TIMEOUT_MAX_MS) throw new RangeError(`${where}.timeoutMs must be at most ${TIMEOUT_MAX_MS}`);
  return {
    name,
    source,
    tools: options["tools"] === undefined ? null : texts(`${where}.tools`, options["tools"]),
    pin: pin ?? null,
    rateLimit: resolveRate(where, rateLimit),
    concurrency: count(`${where}.concurrency`, concurrency as number | undefined, 16, 1),
    timeoutMs: time,
    undos: resolveUndos(`${where}.undo`, options["undo"]),
    hasDescriptions: descriptions === undefined,
    trustsAnnotations: flag(`${where}.trustAnnotations`, trustAnnotations) ?? false,
    isPrivate: isPrivate ?? namesPrivate(source),
    login,
  };
}

/** A source with the headers and the query of its `auth`. */
function withAuth(
  source: ConnectorSource,
  given: unknown,
  { connector, where, isPrivate }: { readonly connector: string; readonly where: string; readonly isPrivate: boolean },
): { readonly source: ConnectorSource; readonly login: LoginSettings | null } {
  if (given === undefined) return { source, login: NO_AUTH.login };
  if (source.kind === "process") throw new TypeError(`${where}.auth is for servers that are reached over HTTP`);
  const mcp = source.kind === "http" ? source.url : null;
  const { headers, query, login } = resolveAuth(given, { connector, where: `${where}.auth`, mcp, isPrivate });
  const taken = login === null ? headers : [["authorization"] as const];
  const twice = source.headers.find(([name]) => taken.some(([own]) => own === name));
  if (twice !== undefined) throw new TypeError(`${where} sets the header ${twice[0]} by its auth and by its headers`);
  const all = { ...source, headers: [...source.headers, ...headers] };
  return { source: all.kind === "openapi" ? { ...all, query: [...all.query, ...query] } : all, login };
}

function resolveOpenApi(where: string, options: Readonly<Record<string, unknown>>): ConnectorSource {
  checkMembers(where, options, [...COMMON, "openapi", "headers", "query"]);
  const { openapi, headers, query } = options;
  if (!isObject(openapi)) throw new TypeError(`${where}.openapi must be an object with a document`);
  checkMembers(`${where}.openapi`, openapi, ["document", "url", "pin", "server", "headers", "mounts"]);
  const { server, mounts = [] } = openapi;
  return {
    kind: "openapi",
    document: resolvePlace(`${where}.openapi`, openapi),
    server: server === undefined ? null : urlOf(`${where}.openapi.server`, server),
    hasHeaders: flag(`${where}.openapi.headers`, openapi["headers"]) ?? false,
    mounts: texts(`${where}.openapi.mounts`, mounts),
    headers: pairs(`${where}.headers`, headers).map(([name, value]) => [name.toLowerCase(), value]),
    query: pairs(`${where}.query`, query),
  };
}

function resolvePlace(where: string, { document, url, pin }: Readonly<Record<string, unknown>>): DocumentPlace {
  if ((document === undefined) === (url === undefined))
    throw new TypeError(`${where} must have either a document or a url`);
  if (url === undefined) {
    if (pin !== undefined) throw new TypeError(`${where}.pin belongs to a url`);
    return { kind: "file", path: resolve(textOf(`${where}.document`, document)) };
  }
  const text = textOf(`${where}.url`, url);
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.password !== "") {
    throw new TypeError(`${where}.url must be an http or https URL, such as "https://api.example.com/openapi.json"`);
  }
  if (pin !== undefined && !(typeof pin === "string" && PIN.test(pin)))
    throw new TypeError(`${where}.pin must be sha256: and 64 hexadecimal digits`);
  return { kind: "url", url: text, pin: pin ?? null, isPrivate: isPrivateHost(parsed) };
}

function resolveMcp(where: string, options: Readonly<Record<string, unknown>>): McpSource {
  checkMembers(where, options, [...COMMON, "mcp", "trustAnnotations"]);
  const { mcp } = options;
  if (!isObject(mcp) || "url" in mcp === "command" in mcp) {
    throw new TypeError(`${where}.mcp must be an object with either a url or a command`);
  }
  if ("url" in mcp) {
    checkMembers(`${where}.mcp`, mcp, ["url", "headers"]);
    const headers = pairs(`${where}.mcp.headers`, mcp["headers"]);
    const lower = headers.map(([name, value]): NamedValue => [name.toLowerCase(), value]);
    return { kind: "http", url: urlOf(`${where}.mcp.url`, mcp["url"]), headers: lower };
  }
  checkMembers(`${where}.mcp`, mcp, ["command", "args", "env", "cwd", ...WALLS]);
  const { command, args = [], env, cwd } = mcp;
  return {
    kind: "process",
    command: textOf(`${where}.mcp.command`, command),
    args: texts(`${where}.mcp.args`, args),
    env: pairs(`${where}.mcp.env`, env),
    cwd: cwd === undefined ? null : textOf(`${where}.mcp.cwd`, cwd),
    ...resolveWalls(`${where}.mcp`, mcp),
  };
}

/** Whether the operator's own URL names an address that is not public. */
function namesPrivate(source: ConnectorSource): boolean {
  const url = source.kind === "openapi" ? source.server : source.kind === "http" ? source.url : null;
  return url !== null && isPrivateHost(new URL(url));
}

/**
 * Whether the server of a connector may have an address that is not public: also if it has the host of its document's
 * URL.
 */
export function mayBePrivate({ isPrivate, source }: ResolvedConnector, server: string | null): boolean {
  if (isPrivate || server === null || source.kind !== "openapi" || source.document.kind !== "url") return isPrivate;
  return source.document.isPrivate && new URL(source.document.url).host === new URL(server).host;
}

function urlOf(where: string, value: unknown): string {
  const text = textOf(where, value);
  if (patternBelow(text) !== null && URL.parse(text)?.search === "") return text;
  throw new TypeError(`${where} must be an http or https URL without a query, such as "https://api.example.com/v1"`);
}

function resolveRate(where: string, rateLimit: unknown): RateLimit | null {
  if (rateLimit === undefined) return null;
  const isRate = isObject(rateLimit) && Object.keys(rateLimit).every((key) => key === "calls" || key === "perMs");
  if (!isRate) throw new TypeError(`${where}.rateLimit must be { calls, perMs }`);
  const limit = rateLimit as unknown as RateLimit;
  try {
    new RateLimiter(limit);
  } catch (error) {
    throw new RangeError(`${where}.rateLimit: ${(error as Error).message}`, { cause: error });
  }
  return { calls: limit.calls, perMs: limit.perMs };
}

/** A text of the options, with a placeholder for each `{secret:NAME}`. */
function withPlaceholders(text: string): string {
  return text.replaceAll(SECRET, (_all, name: string) => placeholderOf(name));
}

function pairs(where: string, value: unknown): readonly NamedValue[] {
  if (value === undefined) return [];
  if (!isObject(value) || Object.keys(value).length > LIST_MAX) {
    throw new TypeError(`${where} must be an object that maps names to texts`);
  }
  return Object.entries(value).map(([name, text]) => [name, withPlaceholders(textOf(`${where}.${name}`, text))]);
}

function texts(where: string, value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length > LIST_MAX) throw new TypeError(`${where} must be a list of texts`);
  return value.map((each: unknown, at) => textOf(`${where}[${at}]`, each));
}

function textOf(where: string, value: unknown): string {
  if (typeof value === "string" && value !== "" && value.length <= TEXT_MAX && !value.includes("\0")) return value;
  throw new TypeError(`${where} must be a text of 1 to ${TEXT_MAX} characters`);
}

function flag(where: string, value: unknown): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  throw new TypeError(`${where} must be true or false`);
}
