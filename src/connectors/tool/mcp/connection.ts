import type { Progress } from "../../../kernel/base/result.ts";
import { parseForWriting } from "../../../kernel/base/exact-json.ts";
import { DigitMarks } from "./digit-marks.ts";
import { setTimeout as delay } from "node:timers/promises";
import type * as Sdk from "@modelcontextprotocol/client";
import type { Connections } from "../../../kernel/broker/capabilities/fetch/connections.ts";
import type { Secrets } from "../../../kernel/broker/capabilities/secrets/secrets.ts";
import { namesIn } from "../../../kernel/broker/capabilities/secrets/placeholders.ts";
import { placeholderOf } from "../../../kernel/broker/capabilities/secrets/secrets.ts";
import { Failures } from "./client-failures.ts";
import { type Clean, failed, McpError, type McpFailure, shownWords } from "./failure.ts";
import { GuardedFetch } from "./http-fetch.ts";
import type { McpLimits } from "./limits.ts";
import { Listing } from "./listing.ts";
import type { ListedTools, McpPeer } from "./messages.ts";
import type { HttpServer, McpServer, StdioServer } from "./server.ts";
import type { SessionTokens } from "./session-tokens.ts";
import { startServer, unseenWords } from "./server-process.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** Parts of a thread that its connection uses. */
export interface ConnectionHost {
  readonly sdk: typeof Sdk;
  readonly connector: string;
  readonly server: McpServer;
  readonly trustAnnotations: boolean;
  readonly secrets: Secrets;
  readonly connections: Connections;
  /** Those that its requests carry; `null` without a login. */
  readonly tokens: SessionTokens | null;
  readonly limits: McpLimits;
  readonly clean: Clean;
  readonly onChanged: () => void;
  /** Called once; the connection is unusable afterwards. */
  readonly onLost: (failure: McpFailure) => void;
  readonly onGroup: (pid: number | null) => void;
}

/** How a call is made. */
interface AskedCall {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

const CLIENT = { name: "glovebox", version: "1" };
const CHANGED_DEBOUNCE_MS = 200;
const TERMINATE_MS = 1_000;
/** Commands that download the program that they run. */
const DOWNLOADS = /(?:^|\/)(?:npx|bunx|pnpx|uvx|pipx)$/;
const PEER_SHOWN = 100;
const HEADER_EXTENSION = '"x-mcp-header"';
const ANY_RESULT: Sdk.StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "glovebox", validate: (value: unknown) => ({ value }) },
};

interface Wire {
  readonly transport: Sdk.Transport;
  readonly http: Sdk.StreamableHTTPClientTransport | null;
  /** Asks its server something, and ends all that is sent for that. */
  readonly during: <Value>(ask: () => Promise<Value>) => Promise<Value>;
  /** Why it ended. */
  readonly failure: () => Promise<McpError>;
  /** Error output of its process, for the operator; `null` without a process. */
  readonly said: (() => string | null) | null;
}

/** One connection with a server, from its start to its loss. */
export class McpConnection {
  readonly #host: ConnectionHost;
  readonly #failures: Failures;
  #client: Sdk.Client | null = null;
  #wire: Wire | null = null;
  /** Tools whose arguments are sent in headers as well, by name. */
  #mirrored = new Map<string, Sdk.Tool>();
  readonly #marks = new DigitMarks();
  #isOver = false;
  #isChecking = false;

  constructor(host: ConnectionHost) {
    this.#host = host;
    this.#failures = new Failures(host.sdk, host.server.kind === "http" ? new URL(host.server.url) : null, host.clean);
  }

  /** Connects. A server that ends at the handshake of a newer revision gets the old one. */
  async open(): Promise<McpPeer> {
    const { server } = this.#host;
    try {
      await this.#connect("auto").catch(async (error: unknown) => {
        const hasEnded = error instanceof this.#host.sdk.SdkError && this.#wire?.said !== null;
        if (!hasEnded || this.#isOver || error.code === this.#host.sdk.SdkErrorCode.RequestTimeout) throw error;
        await this.#connect("legacy");
      });
    } catch (error) {
      const { message, ...failure } = await this.#failureOf(error, this.#host.limits.connectMs);
      const said = failure.detail ?? this.#wire?.said?.() ?? null;
      const parts = [server.kind === "stdio" ? hintOf(server) : null, said].filter((part) => part !== null);
      throw new McpError(message, { ...failure, detail: parts.length === 0 ? null : parts.join("; ") });
    }
    const { clean } = this.#host;
    const { name = "", version = "" } = this.#client?.getServerVersion() ?? {};
    const protocol = this.#client?.getNegotiatedProtocolVersion() ?? "";
    return { name: shownWords(clean(name), PEER_SHOWN), version: shownWords(clean(version), PEER_SHOWN), protocol };
  }

  async list(signal: AbortSignal): Promise<ListedTools> {
    const { limits } = this.#host;
    const client = this.#connected();
    const timeout = limits.listMs;
    const late = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
    try {
      if (client.getServerCapabilities()?.tools === undefined) return { tools: [], findings: [], ttlMs: 0 };
      const mirrored = new Map<string, Sdk.Tool>();
      const list = await new Listing(this.#host).read(async (cursor) => {
        const params = cursor === null ? {} : { cursor };
        const options = { signal: late, timeout };
        return await this.#during(() => client.request({ method: "tools/list", params }, ANY_RESULT, options));
      });
      for (const json of list.tools.filter((text) => text.includes(HEADER_EXTENSION))) {
        const { operation, inputSchema } = JSON.parse(json) as {
          operation: { tool: string };
          inputSchema: Sdk.Tool["inputSchema"];
        };
        mirrored.set(operation.tool, { name: operation.tool, inputSchema });
      }
      this.#mirrored = mirrored;
      return { ...list, tools: list.tools.map((json) => this.#marks.unmark(json)) };
    } catch (error) {
      throw await this.#thrown(error, timeout);
    }
  }

  /** JSON of the result. Rejects with an `McpError`. */
  async call(tool: string, args: string, asked: AskedCall): Promise<string> {
    const { timeoutMs, maxBytes, signal, onProgress } = asked;
    const client = this.#connected();
    try {
      const given = parseForWriting(args) as Record<string, unknown>;
      // With this definition, the client compiles none of the server's schemas.
      const toolDefinition = this.#mirrored.get(tool) ?? { name: tool, inputSchema: { type: "object" } };
      // Without a listener, the server is not asked for progress.
      const watched = onProgress === undefined ? {} : { onprogress: (said: Sdk.Progress) => onProgress(read(said)) };
      const options = { signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs, toolDefinition, ...watched };
      const result = await this.#during(() => client.callTool({ name: tool, arguments: given }, options));
      const text = this.#marks.unmark(JSON.stringify(result));
      const bytes = Buffer.byteLength(text);
      if (bytes <= maxBytes) return text;
      throw new McpError(`its answer has ${bytes} bytes, the limit is ${maxBytes} bytes`, { isTransient: false });
    } catch (error) {
      throw await this.#thrown(error, timeoutMs);
    }
  }

  async close(): Promise<void> {
    this.#isOver = true;
    const http = this.#wire?.http;
    if (http?.sessionId !== undefined) {
      await Promise.race([http.terminateSession().catch(() => {}), delay(TERMINATE_MS)]);
    }
    await this.#client?.close().catch(() => {});
    await this.#wire?.transport.close().catch(() => {});
  }

  async #connect(mode: "auto" | "legacy"): Promise<void> {
    const { sdk, limits, onChanged, server } = this.#host;
    const client = new sdk.Client(CLIENT, {
      capabilities: {},
      versionNegotiation: { mode, probe: { timeoutMs: server.kind === "http" ? limits.connectMs : limits.probeMs } },
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, debounceMs: CHANGED_DEBOUNCE_MS, onChanged } },
      jsonSchemaValidator: {
        getValidator: () => (input: unknown) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
    });
    // An older server may send requests in spite of the client's capabilities.
    client.fallbackRequestHandler = (request) => {
      if (request.method === "elicitation/create") return Promise.resolve({ action: "decline" });
      return Promise.reject(new sdk.ProtocolError(sdk.METHOD_NOT_FOUND, "not offered"));
    };
    const wire = server.kind === "http" ? this.#overHttp(server) : await this.#overStdio(server);
    this.#wire = wire;
    this.#client = client;
    await client.connect(wire.transport, { timeout: limits.connectMs });
    client.onclose = () => void this.#lose();
  }

  #overHttp(server: HttpServer): Wire {
    const { sdk, connections, secrets, limits, tokens } = this.#host;
    const guarded = new GuardedFetch(server, connections, secrets, { limits, tokens, marks: this.#marks });
    const http = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
      fetch: (url, init) => guarded.send(url, init),
      reconnectionScheduler: (resume, delayMs) => {
        const timer = setTimeout(resume, Math.min(Math.max(delayMs, limits.resumeMinMs), limits.backoffMaxMs));
        return () => clearTimeout(timer);
      },
    });
    return {
      transport: http,
      http,
      during: (ask) => guarded.during(ask),
      failure: () => Promise.resolve(new McpError("the connection has ended")),
      said: null,
    };
  }

  async #overStdio(server: StdioServer): Promise<Wire> {
    const { sdk, limits, clean, onGroup } = this.#host;
    const process = await startServer(server, this.#filled(server.env), limits);
    if (process.group !== null) {
      onGroup(process.group);
      void process.ended.then(() => onGroup(null));
    }
    const transport = new StdioTransport(process, limits, clean, (text) =>
      sdk.deserializeMessage(this.#marks.mark(text)),
    );
    if (this.#isOver) await transport.close();
    const during: Wire["during"] = (ask) => ask();
    return { transport, http: null, during, failure: () => transport.failure(), said: () => transport.said() };
  }

  /** Puts the values of secrets into variables. */
  #filled(env: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    const fill = (text: string): string =>
      [...namesIn([text])].reduce((filled, name) => {
        const value = this.#host.secrets.find(name)?.value;
        if (value === undefined)
          throw new McpError(`the engine has no secret "${name}"`, { isTransient: false, isSent: false });
        return filled.replaceAll(placeholderOf(name), () => value);
      }, text);
    return new Map([...env].map(([name, value]) => [name, fill(value)]));
  }

  #connected(): Sdk.Client {
    if (this.#client === null || this.#isOver) throw new McpError("the connection has ended", { isSent: false });
    return this.#client;
  }

  #during<Value>(ask: () => Promise<Value>): Promise<Value> {
    return this.#wire === null ? ask() : this.#wire.during(ask);
  }

  async #thrown(error: unknown, timeoutMs: number): Promise<McpError> {
    const failure = await this.#failureOf(error, timeoutMs);
    if (failure.isTransient && !failure.isBusy) void this.#checkAlive();
    const { message, ...more } = failure;
    return new McpError(message, more);
  }

  async #failureOf(error: unknown, timeoutMs: number): Promise<McpFailure> {
    const failure = this.#failures.of(error, timeoutMs);
    const { SdkError, SdkErrorCode } = this.#host.sdk;
    const isClosed =
      error instanceof SdkError &&
      (error.code === SdkErrorCode.ConnectionClosed || error.code === SdkErrorCode.EraNegotiationFailed);
    if (!isClosed || this.#host.server.kind === "http" || this.#wire === null) return failure;
    const { failure: end } = await this.#wire.failure();
    return { ...failure, message: end.message, detail: end.detail };
  }

  /** After a failure that may affect the whole server: sends a ping, and closes the connection without an answer. */
  async #checkAlive(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const timeout = this.#host.limits.aliveMs;
    try {
      const client = this.#connected();
      const isModern = client.getProtocolEra() === "modern";
      await this.#during(() => (isModern ? client.discover({ timeout }) : client.ping({ timeout })));
    } catch (error) {
      if (error instanceof this.#host.sdk.ProtocolError) return;
      await this.#lose(failed(`it gives no sign of life: ${this.#failures.of(error, timeout).message}`));
    } finally {
      this.#isChecking = false;
    }
  }

  async #lose(failure?: McpFailure): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#host.onLost(failure ?? (await this.#wire?.failure())?.failure ?? failed("the connection has ended"));
  }
}

function read({ progress, total, message }: Sdk.Progress): Progress {
  const hasTotal = total !== undefined && Number.isFinite(total);
  return { progress, ...(hasTotal && { total }), ...(message !== undefined && { message }) };
}

/** A likely reason for a process that does not start. */
function hintOf(server: StdioServer): string | null {
  const unseen = unseenWords(server);
  const words =
    unseen.length === 1 ? `word ${unseen[0]} of its command names` : `words ${unseen.join(", ")} of its command name`;
  if (unseen.length > 0) return `${words} a path that its sandbox does not show; add it to folders`;
  const isDownload = DOWNLOADS.test(server.command) && !server.network && server.sandbox === "require";
  return isDownload ? "its command downloads it, and it has no network; set network: true, or install it" : null;
}
