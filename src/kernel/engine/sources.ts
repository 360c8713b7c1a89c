import type { BegunLogin, ConnectorStatus, FinishedLogin } from "../base/connector-report.ts";
import { GloveboxError } from "../base/errors.ts";
import type { BrokerClient } from "../broker/thread/broker-client.ts";
import type { Registrar } from "../tool/registrar.ts";
import type { ToolRegistry } from "../tool/registry.ts";
import type { InstalledTools } from "./installed-tools.ts";
import type { Events } from "./telemetry/events.ts";

/** A source of tools of a package, beside the tools of an engine's options. Its servers are connectors. */
export interface SourcePlugin<Settings extends SourceSettings = SourceSettings> {
  /** Reads its own options among those of an engine. Throws a `RangeError` or `TypeError` that names an invalid one. */
  resolve(options: object): Settings;
  /** Makes it for an engine, with the engine's settings at its start. Reads nothing yet. */
  open(host: SourceHost, settings: Settings): ToolSource<Settings>;
}

export interface SourceSettings {
  /** Options by name that take effect only in a newly started engine. */
  readonly fixed: { readonly [option: string]: unknown };
}

/** The parts of an engine that sources use and change. */
export interface SourceHost {
  readonly registry: ToolRegistry;
  readonly registrar: Registrar;
  readonly tools: InstalledTools;
  readonly events: Events;
  readonly broker: Pick<BrokerClient, "join">;
}

/** A source in an engine. Disposed when the engine closes. */
export interface ToolSource<Settings extends SourceSettings = SourceSettings> extends AsyncDisposable {
  /** Reads the tools of new and changed connectors. Changes nothing, and rejects if one is not possible. */
  prepare(settings: Settings): Promise<PreparedSource>;
  /** Its connectors, in their present state. */
  list(): readonly ConnectorStatus[];
  /** Names of its connectors that need a login: the operator's, or that of a tenant. */
  needLogin(): readonly string[];
  /** Reads the tools of one of its connectors again. Rejects with a `GloveboxError` if they cannot be read. */
  refresh(name: string): Promise<ConnectorStatus>;
  /** Begins a login that a browser finishes. Rejects with a `GloveboxError`. */
  login(name: string, place: LoginPlace): Promise<BegunLogin>;
  /** Finishes a login by the address to which the browser was sent back; `null` if none of its logins waits for it. */
  finishLogin(callback: URL): Promise<FinishedLogin> | null;
}

/** Address to which a browser is sent back, and the tenant of the login. */
export interface LoginPlace {
  readonly redirectUri: string;
  /** Empty for the operator's login. */
  readonly tenant: string;
}

/** Tools that were read, and are not registered. Disposed, and not put, if another part fails. */
export interface PreparedSource extends AsyncDisposable {
  /** Puts them in force. Cannot fail. */
  put(): ChangedTools;
}

/** Names of tools. */
export interface ChangedTools {
  readonly registered: readonly string[];
  readonly removed: readonly string[];
}

/** The sources of an engine. */
export class EngineSources implements AsyncDisposable {
  readonly #sources: readonly ToolSource[];

  /** `settings`: of each plugin, in their order. */
  constructor(plugins: readonly SourcePlugin[], settings: readonly SourceSettings[], host: SourceHost) {
    this.#sources = plugins.map((plugin, at) => plugin.open(host, settings[at] ?? { fixed: {} }));
  }

  list(): readonly ConnectorStatus[] {
    return this.#sources.flatMap((source) => source.list());
  }

  needLogin(): readonly string[] {
    return this.#sources.flatMap((source) => source.needLogin());
  }

  /** Rejects with a `GloveboxError`: `tool_not_found` if there is no such connector. */
  async refresh(name: string): Promise<ConnectorStatus> {
    return this.#of(name).refresh(name);
  }

  async login(name: string, place: LoginPlace): Promise<BegunLogin> {
    return this.#of(name).login(name, place);
  }

  async finishLogin(callback: URL): Promise<FinishedLogin> {
    for (const source of this.#sources) {
      const finished = source.finishLogin(callback);
      if (finished !== null) return finished;
    }
    throw new GloveboxError("tool_not_found", "no login waits for this address: it was finished, or took too long");
  }

  /** Prepares all sources, or none. */
  async prepare(settings: readonly SourceSettings[]): Promise<PreparedSource> {
    const preparing = this.#sources.map((source, at) => source.prepare(settings[at] ?? { fixed: {} }));
    const settled = await Promise.allSettled(preparing);
    const prepared = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    const dispose = async (): Promise<void> => {
      await Promise.allSettled(prepared.map((one) => one[Symbol.asyncDispose]()));
    };
    const failed = settled.find((one) => one.status === "rejected");
    if (failed !== undefined) {
      await dispose();
      throw failed.reason;
    }
    const put = (): ChangedTools => {
      const changed = prepared.map((one) => one.put());
      return {
        registered: changed.flatMap(({ registered }) => registered),
        removed: changed.flatMap(({ removed }) => removed),
      };
    };
    return { put, [Symbol.asyncDispose]: dispose };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#sources.map((source) => source[Symbol.asyncDispose]()));
  }

  #of(name: string): ToolSource {
    const found = this.#sources.find((source) => source.list().some((one) => one.name === name));
    if (found !== undefined) return found;
    throw new GloveboxError("tool_not_found", `the engine has no connector "${name.slice(0, 64)}"`);
  }
}
