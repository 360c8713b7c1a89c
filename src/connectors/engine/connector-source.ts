import type { Progress } from "../../kernel/base/result.ts";
import type { LoginReport } from "../../kernel/base/connector-report.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { GloveboxError } from "../../kernel/base/errors.ts";
import type { FetchOptions } from "../../kernel/broker/capabilities/fetch/connections.ts";
import { type SecretOptions, Secrets } from "../../kernel/broker/capabilities/secrets/secrets.ts";
import { LoginRequired } from "../../kernel/broker/capabilities/capability.ts";
import type { ConnectorRoute, SessionToolCall } from "../capability/route.ts";
import { MCP_LIMITS } from "../tool/mcp/limits.ts";
import type { ListedTools } from "../tool/mcp/messages.ts";
import type { McpFailure } from "../tool/mcp/failure.ts";
import type { McpServer } from "../tool/mcp/server.ts";
import { McpSession } from "../tool/mcp/session.ts";
import type { LoginStoreOptions } from "../store/login-table.ts";
import { secretsOfLogin } from "../login/settings.ts";
import { TenantSessions } from "./tenant-sessions.ts";
import { readDocument } from "./document.ts";
import { type DocumentPlace, mayBePrivate, type McpSource, type ResolvedConnector } from "../tool/options.ts";
import { type ReadConnector, readConnector, type RemoteNames } from "../tool/read-connector.ts";
import { checkSecrets, secretsOf } from "../tool/connector-secrets.ts";

/** Time for the list of a server's tools: an engine starts without those of a server that takes longer. */
const LIST_MS = 10_000;
/** Pause before asking a busy server again that names no time; it doubles. */
const PAUSE_MS = 1_000;
const REPEATS_MAX = 10;

/** The engine's options on which connectors depend. */
export interface SourceOptions {
  readonly secrets: { readonly [name: string]: SecretOptions };
  readonly fetch: FetchOptions;
  /** The store of logins. */
  readonly logins: LoginStoreOptions;
}

/** Changes on a server's own initiative. */
export type SourceChange =
  { readonly kind: "up" } | { readonly kind: "list" } | { readonly kind: "lost"; readonly reason: string };

interface SourceListener {
  readonly onChange: (change: SourceChange) => void;
  readonly onLogin: (report: LoginReport) => void;
}

/** Opens sources. Its secrets are read once. */
export class Sources {
  readonly #options: SourceOptions;
  #secrets: Secrets | null = null;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  /** Throws if a secret is not bound to the server. */
  open(connector: ResolvedConnector, { onChange, onLogin }: SourceListener): ConnectorSource {
    const secrets = (this.#secrets ??= new Secrets(this.#options.secrets, process.env, () => undefined));
    const { name, source, trustsAnnotations, timeoutMs, login, concurrency } = connector;
    if (source.kind === "openapi") {
      return new DocumentSource(connector, source.document, { secrets, fetch: this.#options.fetch });
    }
    checkSecrets(connector, source.kind === "http" ? source.url : null, secrets);
    const names = [...secretsOf(connector), ...(login === null ? [] : secretsOfLogin(login))];
    const own = Object.entries(this.#options.secrets).filter(([each]) => names.includes(each));
    const common = {
      connector: name,
      server: serverOf(connector, source),
      trustAnnotations: trustsAnnotations,
      secrets: Secrets.resolved(Object.fromEntries(own), secrets),
      fetch: this.#options.fetch,
      login: login === null ? null : { settings: login, store: this.#options.logins },
      limits: { requests: concurrency + MCP_LIMITS.requests },
      onLogin,
    };
    const session = new McpSession({
      ...common,
      onState: (state) => {
        if (state.kind === "up") onChange({ kind: "up" });
        if (state.kind === "down") onChange({ kind: "lost", reason: wordsOf(state.failure) });
        if (state.kind === "missing") onChange({ kind: "lost", reason: state.error.message });
      },
      onListChanged: () => onChange({ kind: "list" }),
    });
    const isPerTenant = login?.grant.kind === "authorizationCode" && login.grant.perTenant;
    const tenants = isPerTenant ? new TenantSessions((tenant) => new McpSession({ ...common, tenant })) : null;
    return new SessionSource(connector, { session, tenants }, timeoutMs);
  }
}

function serverOf({ isPrivate }: ResolvedConnector, source: McpSource): McpServer {
  if (source.kind === "http") return { ...source, isPrivate };
  const { env, folders, ...rest } = source;
  return { ...rest, kind: "stdio", env: new Map(env), folders: new Map(folders) };
}

export interface SessionRequest extends Omit<SessionToolCall, "connector" | "call"> {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** The source of a connector's tools. */
export interface ConnectorSource extends AsyncDisposable {
  /** Calls a tool of its session; `null` for a document. Rejects with an error that a tool may see. */
  readonly call: ((request: SessionRequest, signal: AbortSignal) => Promise<string>) | null;
  /** Reaches its server now, if it waits to try again; `null` for a document. */
  readonly hasten: (() => void) | null;
  /**
   * Rejects with an error that names the connector, `capability_failed` if the server of a document is down. `listMs`:
   * time for the list of a session.
   */
  read(listMs?: number): Promise<ReadConnector>;
}

class DocumentSource implements ConnectorSource {
  readonly call = null;
  readonly hasten = null;
  readonly #connector: ResolvedConnector;
  readonly #place: DocumentPlace;
  readonly #options: { readonly secrets: Secrets; readonly fetch: FetchOptions };

  constructor(
    connector: ResolvedConnector,
    place: DocumentPlace,
    options: { readonly secrets: Secrets; readonly fetch: FetchOptions },
  ) {
    this.#connector = connector;
    this.#place = place;
    this.#options = options;
  }

  async read(): Promise<ReadConnector> {
    const { name } = this.#connector;
    const read = await readConnector(this.#connector, await readDocument(name, this.#place, this.#options.fetch));
    if (read.server === null) throw new GloveboxError("load_error", `connectors.${name}: the document names no server`);
    checkSecrets(this.#connector, read.server, this.#options.secrets);
    return read;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

class SessionSource implements ConnectorSource {
  readonly #session: McpSession;
  /** Of the tools of the latest list: a model that has seen a name must not call another tool by it. */
  #names: RemoteNames = [];
  readonly #tenants: TenantSessions | null;
  readonly #connector: ResolvedConnector;
  readonly #timeoutMs: number;

  /** `session`: that of the operator's login, which lists the tools. `tenants`: those of their own logins. */
  constructor(
    connector: ResolvedConnector,
    { session, tenants }: { readonly session: McpSession; readonly tenants: TenantSessions | null },
    timeoutMs: number,
  ) {
    this.#connector = connector;
    this.#session = session;
    this.#tenants = tenants;
    this.#timeoutMs = timeoutMs;
  }

  readonly call = async (request: SessionRequest, signal: AbortSignal): Promise<string> => {
    if (this.#tenants === null) return this.#callOn(this.#session, request, signal);
    using session = this.#tenants.use(request.tenant);
    return await this.#callOn(session.session, request, signal);
  };

  readonly hasten = (): void => {
    this.#session.hasten();
    this.#tenants?.hasten();
  };

  /** Retries at a busy server if the tool may be repeated. The signal ends that in time. */
  async #callOn(
    session: McpSession,
    { tool, args, isRepeatable, onProgress }: SessionRequest,
    signal: AbortSignal,
  ): Promise<string> {
    for (let repeats = 0; ; repeats++) {
      const answer = await session.call(tool, args, { signal, timeoutMs: this.#timeoutMs, onProgress });
      if (answer.kind === "answered") return answer.text;
      const { message, isBusy, needsLogin, retryAfterMs } = answer.failure;
      const waitMs = retryAfterMs ?? PAUSE_MS * 2 ** repeats;
      const mayWait = isBusy && isRepeatable && repeats < REPEATS_MAX && waitMs < this.#timeoutMs;
      const later = isBusy || retryAfterMs !== null ? `; retryAfterMs: ${Math.ceil(waitMs)}` : "";
      if (needsLogin) throw new LoginRequired(message + later);
      if (!mayWait) throw new Error(message + later);
      await sleep(waitMs, undefined, { signal });
    }
  }

  async read(listMs = LIST_MS): Promise<ReadConnector> {
    const listed = await this.#session.list(AbortSignal.timeout(listMs));
    const { state } = this.#session;
    if (state.kind === "missing") throw state.error;
    if (listed.kind === "failed") {
      const code = listed.failure.needsLogin ? "login_required" : "capability_failed";
      throw new GloveboxError(code, wordsOf(listed.failure));
    }
    const read = await readConnector(this.#connector, writeListed(listed.list), this.#names);
    this.#names = read.tools.map(({ tool: { name, operation } }) => [
      operation.kind === "mcp" ? operation.tool : name,
      name,
    ]);
    return read;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#session.close(), this.#tenants?.[Symbol.asyncDispose]()]);
  }
}

/** A failure in words for the operator. */
function wordsOf({ message, detail }: McpFailure): string {
  return detail === null ? message : `${message}; ${detail}`;
}

/** A list of tools as a build process reads it: each tool is JSON already, which this process does not parse. */
function writeListed({ tools, findings }: ListedTools): string {
  return `{"tools":[${tools.join(",")}],"findings":${JSON.stringify(findings)}}`;
}

/** The connector in the form for the broker. `server`: the one in its document. */
export function routeOf(
  connector: ResolvedConnector,
  server: string | null,
  logins: LoginStoreOptions,
): ConnectorRoute {
  const { name, source, rateLimit, concurrency, timeoutMs, login } = connector;
  const isDocument = source.kind === "openapi";
  return {
    name,
    server: isDocument ? server : null,
    isPrivate: mayBePrivate(connector, server),
    headers: isDocument ? source.headers : [],
    query: isDocument ? source.query : [],
    secrets: secretsOf(connector),
    login: isDocument && login !== null ? { settings: login, store: logins } : null,
    rateLimit,
    concurrency,
    timeoutMs,
  };
}
