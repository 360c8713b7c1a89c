import PQueue from "p-queue";
import type { Binaries } from "../broker/capabilities/native/binaries.ts";
import type { FetchOptions } from "../broker/capabilities/fetch/connections.ts";
import { GloveboxError } from "../base/errors.ts";
import type { Bounds } from "../base/limits.ts";
import type { ResolvedPackageOptions } from "./package/options.ts";
import type { PackageEvent } from "./package/step.ts";
import type { Inspection, ToolScript } from "../base/protocol/script.ts";
import type { ToolDefinition, ToolLocation } from "./definition.ts";
import type { LocationExtras } from "./module.ts";
import { Packages } from "./packages.ts";
import { describeModule, type ModuleReport, type PrepareContext, prepareModule, prepareTool } from "./prepare.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import { MAX_TOOLS } from "./registry.ts";
import { findSources, type ToolSource } from "./source.ts";

/** Tools that are bundled and inspected side by side. */
const PREPARED_AT_ONCE = 4;

/** What getting tools ready needs of its engine. */
export interface RegistrarHost {
  /** In force when it is asked for them. */
  readonly bounds: Bounds;
  readonly packages: ResolvedPackageOptions;
  readonly fetch: FetchOptions;
  /** Hears of every step of every package. */
  tell(event: PackageEvent): void;
  /** Throws where the engine takes no more tools. */
  requireOpen(): void;
  inspect(script: ToolScript): Promise<Inspection>;
  readonly binaries: Pick<Binaries, "keep">;
  /** Lets go of what an inspection left ready, and of its file. */
  forget(key: string): void;
}

type Work = () => Promise<readonly RegisteredTool[]>;

/** Gets tools ready, a few at a time: each takes the bundler and then a worker. */
export class Registrar {
  readonly #host: RegistrarHost;
  readonly #context: Omit<PrepareContext, keyof Bounds>;
  readonly #packages: Packages;
  readonly #preparing = new PQueue({ concurrency: PREPARED_AT_ONCE });
  #lastKey = 0;

  constructor(host: RegistrarHost) {
    this.#host = host;
    this.#packages = new Packages(host.packages, host.fetch, (event) => host.tell(event));
    this.#context = {
      inspect: (script) => {
        host.requireOpen();
        return host.inspect(script);
      },
      nextKey: () => `${++this.#lastKey}`,
      packages: this.#packages,
      binaries: host.binaries,
    };
  }

  /**
   * All tools of a definition, or at a place, with the limits that are in force, or are about to be. Rejects with a
   * `GloveboxError`: `load_error`, `engine_closed`.
   */
  async prepare(
    tool: ToolDefinition | ToolLocation | string,
    { limits, maxLimits }: Bounds = this.#host.bounds,
  ): Promise<readonly RegisteredTool[]> {
    this.#host.requireOpen();
    const context = { ...this.#context, limits, maxLimits };
    const works = await this.#worksFor(typeof tool === "string" ? { path: tool } : tool, context);
    if (this.#preparing.size + works.length > MAX_TOOLS) {
      throw new GloveboxError("load_error", `more than ${MAX_TOOLS} tools wait to be registered`);
    }
    const settled = await Promise.allSettled(works.map((work) => this.#preparing.add(work)));
    const prepared = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
    try {
      for (const one of settled) if (one.status === "rejected") throw one.reason;
      const twice = nameOfTwo(prepared);
      if (twice === undefined) return prepared;
      const problem = `more than one tool is called "${twice}" there, and none is registered`;
      throw new GloveboxError("load_error", `${problem}; give each a name of its own, or register one of them`);
    } catch (error) {
      for (const { script } of prepared) this.#host.forget(script.key);
      throw error;
    }
  }

  /** What the modules at a place say of themselves: none of them becomes a tool. Rejects as `prepare` does. */
  async describe(location: ToolLocation | string): Promise<readonly ModuleReport[]> {
    this.#host.requireOpen();
    const { limits, maxLimits } = this.#host.bounds;
    const context = { ...this.#context, limits, maxLimits };
    const { sources, extras } = await found(typeof location === "string" ? { path: location } : location);
    const describe = async (source: ToolSource): Promise<ModuleReport> => {
      const { key, report } = await describeModule(source, extras, context);
      this.#host.forget(key);
      return report;
    };
    return Promise.all(sources.map((source) => this.#preparing.add(() => describe(source))));
  }

  close(): Promise<void> {
    return this.#packages.close();
  }

  async #worksFor(tool: ToolDefinition | ToolLocation, context: PrepareContext): Promise<readonly Work[]> {
    if (!("path" in tool)) return [async () => [await prepareTool(tool, context)]];
    const { sources, extras } = await found(tool);
    return sources.map((source) => () => prepareModule(source, extras, context));
  }
}

/** A name that two tools have. */
function nameOfTwo(tools: readonly RegisteredTool[]): string | undefined {
  const names = tools.map(({ info }) => info.name);
  return names.find((name, at) => names.indexOf(name) !== at);
}

/** What is at a place. A record is of one AgentSpace tool, so nothing at its place may become tools of other names. */
async function found({ path, ...extras }: ToolLocation): Promise<{
  readonly sources: readonly ToolSource[];
  readonly extras: LocationExtras;
}> {
  if (extras.record === undefined) return { sources: await findSources(path), extras };
  return { sources: await findSources(path, true), extras: { contract: "agentspace", ...extras } };
}
