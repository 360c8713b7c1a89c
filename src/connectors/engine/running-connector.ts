import type {
  ConnectorFinding,
  ConnectorStatus,
  LoginReport,
  LoginStatus,
} from "../../kernel/base/connector-report.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { eachInTurns } from "../../kernel/base/turns.ts";
import type { ConnectorRoute } from "../capability/route.ts";
import type { LoginStoreOptions } from "../store/login-table.ts";
import { messageOf } from "../../kernel/broker/method-call.ts";
import type { ResolvedConnector } from "../tool/options.ts";
import type { ReadConnector } from "../tool/read-connector.ts";
import { differenceOf, type ToolsDifference } from "../tool/remote-tool.ts";
import { remoteTool } from "../tool/remote-registered.ts";
import { isSameTool, type RegisteredTool } from "../../kernel/tool/registered-tool.ts";
import type { SourceHost } from "../../kernel/engine/sources.ts";
import { type ConnectorSource, routeOf, type SourceChange } from "./connector-source.ts";

export interface ConnectorRouting {
  readonly logins: LoginStoreOptions;
  /** The connector's route may be another one. */
  readonly onRoute: () => void;
}

/** Tools that were read, and are not registered. */
interface Prepared {
  readonly read: ReadConnector;
  readonly tools: readonly RegisteredTool[];
}

/** Pause before a retry at an unavailable server; it doubles. */
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** Least time between two lists that a server's notifications cause. */
const NOTIFIED_MS = 2_000;
/** Tenants that are named in a status. */
const TENANTS_MAX = 100;

/** A connector of an engine: its tools, whether its server is up, and the attempts to reach it. */
export class RunningConnector implements AsyncDisposable {
  readonly connector: ResolvedConnector;
  readonly source: ConnectorSource;
  readonly #parts: SourceHost;
  readonly #routing: ConnectorRouting;
  /** Its tools in the registry, and the digests of their sources, by name. */
  readonly #own = new Map<string, RegisteredTool>();
  #digests: ReadonlyMap<string, string> = new Map();
  #read: ReadConnector | null = null;
  #prepared: Prepared | null = null;
  #clashes: ConnectorFinding[] = [];
  /** The server that its document names. */
  #server: string | null = null;
  #state: "up" | "down" | "new" = "new";
  #problem: string | null = null;
  #login: Pick<LoginStatus, "state" | "reason"> = { state: "unused", reason: null };
  readonly #tenants = new Set<string>();
  #retryMs = RETRY_MS;
  #timer: NodeJS.Timeout | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(connector: ResolvedConnector, source: ConnectorSource, parts: SourceHost, routing: ConnectorRouting) {
    this.connector = connector;
    this.source = source;
    this.#parts = parts;
    this.#routing = routing;
  }

  get route(): ConnectorRoute {
    return routeOf(this.connector, this.#server, this.#routing.logins);
  }

  get needsLogin(): boolean {
    return this.#login.state === "needed" || this.#tenants.size > 0;
  }

  get status(): ConnectorStatus {
    const { name, source, pin } = this.connector;
    const problem = this.#problem;
    return {
      name,
      kind: source.kind === "openapi" ? "openapi" : "mcp",
      server: source.kind === "http" ? source.url : this.#server,
      state: this.#state === "up" ? "up" : "down",
      problem,
      tools: [...this.#own.keys()].toSorted(),
      digest: this.#read?.digest ?? null,
      pin,
      findings: [...(this.#read?.findings ?? []), ...this.#clashes],
      login: this.#loginStatus,
    };
  }

  /** Reads the tools, and registers none yet. Rejects if a document or an option is wrong; its server may be down. */
  async prepare(): Promise<void> {
    try {
      this.#prepared = await this.#readTools();
    } catch (error) {
      const code = error instanceof GloveboxError ? error.code : null;
      const isDown = this.source.call === null ? code === "capability_failed" : code !== "missing_package";
      if (!isDown) throw error;
      this.#problem = messageOf(error);
    }
  }

  /** Registers the prepared tools. Cannot fail. */
  start(): ToolsDifference {
    const prepared = this.#prepared;
    this.#prepared = null;
    if (prepared !== null) {
      const { steps, end } = this.#take(prepared);
      for (const step of steps) step();
      return end();
    }
    this.#fall(this.#problem ?? "its server did not answer");
    return { added: [], removed: [], changed: [] };
  }

  /** Reads the tools again and registers them. Rejects if its document or its server cannot be read. */
  refresh(): Promise<void> {
    const refreshed = this.#last.then(async () => {
      if (this.#isClosed) throw new GloveboxError("engine_closed", "the connector was removed");
      try {
        const prepared = await this.#readTools();
        if (this.#isClosed) return this.#forget(prepared.tools);
        const { steps, end } = this.#take(prepared);
        // A server may often report changes of thousands of tools.
        await eachInTurns(steps, (step) => step());
        if (!this.#isClosed) end();
      } catch (error) {
        this.#fall(messageOf(error));
        throw error;
      }
    });
    this.#last = refreshed.catch(() => undefined);
    return refreshed;
  }

  /** Its server has changed: an end of the connection, a new one, or another list. */
  notice(change: SourceChange): void {
    if (this.#state === "new" || this.#isClosed) return;
    if (change.kind === "lost") this.#fall(messageOf(change.reason));
    else if (change.kind === "list") this.#later(NOTIFIED_MS);
    else if (this.#state === "down") this.refresh().catch(() => undefined);
  }

  /** A person has logged in: a session that waits for a retry now retries. */
  hasLoggedIn(tenant: string): void {
    this.noticeLogin({ connector: this.connector.name, tenant, state: "ready", reason: null, renewal: null });
    this.source.hasten?.();
  }

  /** Its login has changed, or was renewed. */
  noticeLogin({ tenant, state, reason, renewal }: LoginReport): void {
    const { name } = this.connector;
    const isSame =
      tenant === ""
        ? this.#login.state === state && this.#login.reason === reason
        : this.#tenants.has(tenant) === (state === "needed");
    // The thread of an unavailable session reports the same with each attempt.
    if (isSame && renewal === null) return;
    if (tenant === "") this.#login = { state, reason };
    else if (state !== "needed") this.#tenants.delete(tenant);
    else if (this.#tenants.size < TENANTS_MAX) this.#tenants.add(tenant);
    this.#parts.events.emit("connector:login", { connector: name, tenant, state, reason, renewal });
  }

  get #loginStatus(): LoginStatus | null {
    const { login } = this.connector;
    return login === null ? null : { auth: login.grant.kind, ...this.#login, tenants: [...this.#tenants].toSorted() };
  }

  /** Removes its tools. Returns their names. */
  remove(): readonly string[] {
    const names = [...this.#own.keys()];
    for (const name of names) this.#removeTool(name);
    return names;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#prepared !== null) this.#forget(this.#prepared.tools);
    await this.source[Symbol.asyncDispose]();
  }

  async #readTools(): Promise<Prepared> {
    const read = await this.source.read();
    const tools = await this.#parts.registrar.prepareEach(read.tools, (line, engine) =>
      remoteTool(this.connector, line, engine),
    );
    return { read, tools };
  }

  /** Takes a list in, unless it contradicts the pin: `steps` register one tool each, and `end` reports it. */
  #take({ read, tools }: Prepared): { readonly steps: readonly (() => void)[]; readonly end: () => ToolsDifference } {
    const { name, pin } = this.connector;
    const { events } = this.#parts;
    const { digest } = read;
    const digests = new Map(read.tools.map((one) => [one.tool.name, one.digest]));
    const difference = differenceOf(this.#digests, digests);
    const isChanged = difference.added.length + difference.removed.length + difference.changed.length > 0;
    const isTaken = pin === null || pin === digest;
    const isKnown = this.#read?.digest === digest;
    const isFirst = this.#read === null;
    this.#read = read;
    if (isTaken) {
      this.#server = read.server;
      this.#routing.onRoute();
      this.#digests = digests;
      this.#clashes = [];
    } else this.#forget(tools);
    const gone = [...this.#own.keys()].filter((one) => !digests.has(one));
    const steps = [...tools.map((tool) => () => this.#put(tool)), ...gone.map((one) => () => this.#removeTool(one))];
    const end = (): ToolsDifference => {
      this.#rise();
      // A pin that matches no list is reported at once, a rejected list once.
      if (isTaken ? isChanged && !isFirst : !isKnown) {
        events.emit("connector:change", { connector: name, digest, isTaken, ...difference });
      }
      return isTaken ? difference : { added: [], removed: [], changed: [] };
    };
    return { steps: isTaken ? steps : [], end };
  }

  /** Registers a tool, unless it is the same as before, or the name is another tool's. */
  #put(tool: RegisteredTool): void {
    const { registry, tools } = this.#parts;
    const { name } = tool.info;
    const found = registry.get(name);
    const old = this.#own.get(name);
    const isOther = found !== undefined && found !== old;
    if (this.#isClosed || isOther || (old !== undefined && isSameTool(old, tool))) {
      if (isOther) this.#clashes.push({ tool: name, reason: "another tool of the engine has this name" });
      return this.#forget([tool]);
    }
    try {
      tools.put(tool);
      this.#own.set(name, tool);
    } catch (error) {
      this.#clashes.push({ tool: name, reason: messageOf(error) });
      this.#forget([tool]);
    }
  }

  /** Another tool may have taken its place meanwhile. */
  #removeTool(name: string): void {
    const { registry, tools } = this.#parts;
    if (registry.get(name) === this.#own.get(name)) tools.remove(name);
    this.#own.delete(name);
  }

  #forget(tools: readonly RegisteredTool[]): void {
    for (const { script } of tools) this.#parts.registrar.forget(script.key);
  }

  #rise(): void {
    this.#problem = null;
    this.#retryMs = RETRY_MS;
    if (this.#state === "up") return;
    this.#state = "up";
    this.#parts.events.emit("connector:up", { connector: this.connector.name, tools: this.#own.size });
  }

  #fall(reason: string): void {
    this.#problem = reason;
    if (this.#state !== "down") {
      this.#state = "down";
      this.#parts.events.emit("connector:down", { connector: this.connector.name, reason });
    }
    this.#later(this.#retryMs);
    this.#retryMs = Math.min(RETRY_MAX_MS, 2 * this.#retryMs);
  }

  #later(ms: number): void {
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.refresh().catch(() => undefined);
    }, ms).unref();
  }
}
