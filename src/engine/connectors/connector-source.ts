import { readFile, stat } from "node:fs/promises";
import { GloveboxError } from "../../base/errors.ts";
import type { FetchOptions } from "../../broker/capabilities/fetch/connections.ts";
import { type SecretOptions, Secrets } from "../../broker/capabilities/secrets/secrets.ts";
import type { ConnectorRoute } from "../../broker/capabilities/connector/route.ts";
import type { McpSession } from "../../tool/connectors/mcp/mcp-session.ts";
import { openMcpSession } from "../../tool/connectors/mcp/open-session.ts";
import type { ResolvedConnector } from "../../tool/connectors/options.ts";
import { DOCUMENT_MAX, type ReadConnector, readConnector } from "../../tool/connectors/read-connector.ts";
import { checkSecrets, secretsOf } from "../../tool/connectors/secret-text.ts";

/** Time for the list of a server's tools. */
const LIST_MS = 10_000;

/** The engine's options on which connectors depend. */
export interface SourceOptions {
  readonly secrets: { readonly [name: string]: SecretOptions };
  readonly fetch: FetchOptions;
}

/** Opens sources. Its secrets are read once. */
export class Sources {
  readonly #options: SourceOptions;
  #secrets: Secrets | null = null;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  /** `onChange`: the server says that its list has changed, or the connection was lost. Throws where a secret is not bound to the server. */
  open(connector: ResolvedConnector, onChange: (change: "list" | "lost") => void): ConnectorSource {
    const secrets = (this.#secrets ??= new Secrets(this.#options.secrets, process.env, () => undefined));
    const { name, source, isPrivate, timeoutMs } = connector;
    if (source.kind === "openapi") return new DocumentSource(connector, source.document, secrets);
    checkSecrets(connector, source.kind === "http" ? source.url : null, secrets);
    const own = Object.entries(this.#options.secrets).filter(([each]) => secretsOf(connector).includes(each));
    const session = openMcpSession({
      name,
      source,
      isPrivate,
      timeoutMs,
      secrets: Secrets.resolved(Object.fromEntries(own), secrets),
      fetch: this.#options.fetch,
      onChange,
    });
    return new SessionSource(connector, session);
  }
}

/** Where a connector's tools come from. */
export interface ConnectorSource extends AsyncDisposable {
  /** `null` for a document. */
  readonly session: Pick<McpSession, "call"> | null;
  /** Rejects with an error that names the connector. */
  read(): Promise<ReadConnector>;
}

class DocumentSource implements ConnectorSource {
  readonly session = null;
  readonly #connector: ResolvedConnector;
  readonly #path: string;
  readonly #secrets: Secrets;

  constructor(connector: ResolvedConnector, path: string, secrets: Secrets) {
    this.#connector = connector;
    this.#path = path;
    this.#secrets = secrets;
  }

  async read(): Promise<ReadConnector> {
    const { name } = this.#connector;
    const read = await readConnector(this.#connector, await readDocument(name, this.#path));
    if (read.server === null) throw new GloveboxError("load_error", `connectors.${name}: the document names no server`);
    checkSecrets(this.#connector, read.server, this.#secrets);
    return read;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

class SessionSource implements ConnectorSource {
  readonly session: McpSession;
  readonly #connector: ResolvedConnector;

  constructor(connector: ResolvedConnector, session: McpSession) {
    this.#connector = connector;
    this.session = session;
  }

  async read(): Promise<ReadConnector> {
    return readConnector(this.#connector, await this.session.list(AbortSignal.timeout(LIST_MS)));
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.session[Symbol.asyncDispose]();
  }
}

async function readDocument(name: string, path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size <= DOCUMENT_MAX) return await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "it cannot be read";
    throw new GloveboxError("load_error", `connectors.${name}.openapi.document cannot be read: ${code}`);
  }
  throw new GloveboxError("load_error", `connectors.${name}.openapi.document has more than ${DOCUMENT_MAX} bytes`);
}

/** The connector as the broker reaches it. `server`: the one that its document names. */
export function routeOf(connector: ResolvedConnector, server: string | null): ConnectorRoute {
  const { name, source, isPrivate, rateLimit, concurrency, timeoutMs } = connector;
  const isDocument = source.kind === "openapi";
  return {
    name,
    server: isDocument ? server : null,
    isPrivate,
    headers: isDocument ? source.headers : [],
    query: isDocument ? source.query : [],
    secrets: secretsOf(connector),
    rateLimit,
    concurrency,
    timeoutMs,
  };
}
