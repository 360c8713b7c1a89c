import type { BegunLogin, ConnectorStatus, FinishedLogin, LoginReport } from "../../kernel/base/connector-report.ts";
import { GloveboxError } from "../../kernel/base/errors.ts";
import { CONNECTOR } from "../capability/methods.ts";
import type { ConnectorRoute, SessionToolCall } from "../capability/route.ts";
import type { ResolvedConnector } from "../tool/options.ts";
import { PendingLogins } from "./pending-logins.ts";
import type { SessionRequest, SourceOptions } from "./connector-source.ts";
import type { ChangedTools, LoginPlace, PreparedSource, SourceHost, ToolSource } from "../../kernel/engine/sources.ts";
import type { ConnectorsSettings } from "./options.ts";
import type { RunningConnector } from "./running-connector.ts";

/** The connectors of an engine. */
export class Connectors implements ToolSource<ConnectorsSettings> {
  readonly #parts: SourceHost;
  readonly #setRoutes: (routes: readonly ConnectorRoute[]) => void;
  readonly #options: SourceOptions;
  #open: Promise<(connector: ResolvedConnector) => RunningConnector> | null = null;
  readonly #logins = new PendingLogins();
  #running: ReadonlyMap<string, RunningConnector> = new Map();
  /** Removed ones that still use their servers. */
  readonly #closing = new Set<Promise<unknown>>();

  constructor(parts: SourceHost, options: SourceOptions) {
    this.#parts = parts;
    this.#setRoutes = parts.broker.join(CONNECTOR.name, {
      answer: (question, signal, listenerOf) => {
        const { connector, call, ...request } = question as SessionToolCall;
        const onProgress = call === null ? undefined : listenerOf(call);
        return this.#callTool(connector, { ...request, onProgress }, signal);
      },
      onReport: (report) => this.#noticeLogin(report as LoginReport),
    });
    this.#options = options;
  }

  list(): readonly ConnectorStatus[] {
    return [...this.#running.values()].map(({ status }) => status);
  }

  /** Names of connectors that need a login: the operator's, or that of a tenant. */
  needLogin(): readonly string[] {
    return [...this.#running.values()].filter((one) => one.needsLogin).map(({ connector }) => connector.name);
  }

  /** Reads a connector's tools again. Rejects with a `GloveboxError` if it does not exist, or cannot be read. */
  async refresh(name: string): Promise<ConnectorStatus> {
    const running = this.#running.get(name);
    if (running === undefined) throw noConnector(name);
    await running.refresh();
    return running.status;
  }

  /** Begins a login that a browser finishes. Rejects with a `GloveboxError`. */
  async login(name: string, place: LoginPlace): Promise<BegunLogin> {
    const running = this.#running.get(name);
    if (running === undefined) throw noConnector(name);
    return this.#logins.begin(running.connector, place, this.#options);
  }

  finishLogin(callback: URL): Promise<FinishedLogin> | null {
    const finishing = this.#logins.finish(callback);
    if (finishing === null) return null;
    return finishing.then((finished) => {
      this.#running.get(finished.connector)?.hasLoggedIn(finished.tenant);
      return finished;
    });
  }

  /** A login has changed, or was renewed. */
  #noticeLogin(report: LoginReport): void {
    this.#running.get(report.connector)?.noticeLogin(report);
  }

  /** Calls a tool of a connector's MCP session. */
  #callTool(connector: string, request: SessionRequest, signal: AbortSignal): Promise<string> {
    const call = this.#running.get(connector)?.source.call ?? null;
    if (call === null) return Promise.reject(new Error(`the connector "${connector}" has no session`));
    return call(request, signal);
  }

  /** Reads the tools of new and changed connectors. Changes nothing, and rejects if one cannot be used. */
  async prepare({ connectors: wanted }: ConnectorsSettings): Promise<PreparedSource> {
    const kept: RunningConnector[] = [];
    const added: RunningConnector[] = [];
    const dispose = async (): Promise<void> => {
      await Promise.allSettled(added.map((one) => one[Symbol.asyncDispose]()));
    };
    try {
      if (wanted.length > 0) this.#open ??= this.#load();
      const open = await this.#open;
      for (const connector of wanted) {
        const old = this.#running.get(connector.name);
        if (old !== undefined && JSON.stringify(old.connector) === JSON.stringify(connector)) kept.push(old);
        else if (open !== null) added.push(open(connector));
      }
      const settled = await Promise.allSettled(added.map((one) => one.prepare()));
      for (const one of settled) if (one.status === "rejected") throw one.reason;
      return { put: () => this.#put(kept, added), [Symbol.asyncDispose]: dispose };
    } catch (error) {
      await dispose();
      throw error;
    }
  }

  #put(kept: readonly RunningConnector[], added: readonly RunningConnector[]): ChangedTools {
    const old = this.#running;
    this.#running = new Map([...kept, ...added].map((one) => [one.connector.name, one]));
    const gone = [...old.values()].filter((one) => !kept.includes(one));
    const removed = gone.flatMap((one) => one.remove());
    for (const one of gone) this.#close(one);
    const registered = added.flatMap((one) => one.start().added);
    this.#route();
    // A document may have changed.
    for (const one of kept) if (one.source.call === null) one.refresh().catch(() => undefined);
    return { registered, removed: removed.filter((name) => !registered.includes(name)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#running.values()) this.#close(one);
    this.#running = new Map();
    await Promise.allSettled(this.#closing);
    await this.#logins[Symbol.asyncDispose]();
  }

  /** Loaded lazily, because most engines have no connectors. */
  async #load(): Promise<(connector: ResolvedConnector) => RunningConnector> {
    const [{ Sources }, { RunningConnector: Running }] = await Promise.all([
      import("./connector-source.ts"),
      import("./running-connector.ts"),
    ]);
    const sources = new Sources(this.#options);
    return (connector) => {
      const source = sources.open(connector, {
        onChange: (change) => running.notice(change),
        onLogin: (report) => running.noticeLogin(report),
      });
      const { logins } = this.#options;
      const running = new Running(connector, source, this.#parts, { logins, onRoute: () => this.#route() });
      return running;
    };
  }

  #close(running: RunningConnector): void {
    const closing = running[Symbol.asyncDispose]().catch(() => undefined);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  #route(): void {
    this.#setRoutes([...this.#running.values()].map(({ route }) => route));
  }
}

function noConnector(name: string): GloveboxError {
  return new GloveboxError("tool_not_found", `the engine has no connector "${name.slice(0, 64)}"`);
}
