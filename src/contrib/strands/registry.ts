import { createEngine } from "../../standard/create-engine.ts";
import type { Engine } from "../../kernel/engine/engine.ts";
import { type ErrorCode, GloveboxError } from "../../kernel/base/errors.ts";
import { memberOf } from "../../kernel/base/json.ts";
import type { EventMap } from "../../kernel/engine/telemetry/events.ts";
import type { Logger } from "../../kernel/engine/telemetry/log.ts";
import type { ToolInfo as RegisteredInfo, ToolLocation } from "../../kernel/tool/definition.ts";
import { referenceTool } from "../amplifier/reference-tools.ts";
import { findModules, showPlace, type ToolModule, type ToolPlace } from "./tool-modules.ts";

/** A registered tool. */
export interface ToolInfo {
  /** Name in its `TOOL_SPEC`. */
  readonly id: string;
  /** Full path: `strands_cli.tools.echo`. */
  readonly module_path: string;
  /** `""` if its `TOOL_SPEC` has none. */
  readonly description: string;
  /** Import path: `module_path`; with the tool's name, `…:echo`, if its module has several. */
  readonly import_path: string;
}

/** A module that was skipped, or that replaced another one's tool, with the reason. */
export interface RegistryWarning {
  readonly message: string;
  readonly module_name: string;
  readonly error?: string;
}

export interface RegistryOptions {
  /**
   * Engine that runs the tools; they are registered in it. Default: an engine of the registry's own, which it closes.
   */
  readonly engine?: Engine;
  /**
   * Folder of tools, or several folders and modules; of tools with the same name the last one wins. Default: the
   * built-in `calculator`, `echo`, `js_exec`, and `python_exec` if Pyodide is installed.
   */
  readonly tools?: ToolPlace | readonly ToolPlace[];
  /** Prefix of full paths. Default: `strands_cli.tools`, as in Strands' documents. */
  readonly package?: string;
  /** Receives every warning, which `warnings` also lists. Default: no logger. */
  readonly logger?: Pick<Logger, "warn">;
}

const PACKAGE = "strands_cli.tools";
/** Texts of Strands' documents. */
const NO_SPEC = "Tool module missing TOOL_SPEC, skipping";
const BAD_SPEC = "Tool module has invalid TOOL_SPEC (missing 'name'), skipping";
const SKIPPED: readonly ErrorCode[] = ["load_error", "missing_package"];
const NOT_LOADED = "Failed to import tool module, skipping";
const DUPLICATE = "Duplicate tool name, the module discovered last wins";

const TAKEN = "Tool name is that of another tool of the engine, skipping";

/** `python_exec` is skipped with a warning if Pyodide is not installed. */
const OWN_TOOLS = ["calculator", "echo", "js_exec", "python_exec"] as const;
const ELSEWHERE = "a tools folder of your own";

/** The process's registry, created by the first call. */
let instance: Promise<ToolRegistry> | null = null;

/**
 * The process's registry. The first call creates it with its options and discovers its tools; later calls return the
 * same object and ignore their options. After the registry is closed, the next call creates a new one.
 */
export function getRegistry(options: RegistryOptions = {}): Promise<ToolRegistry> {
  if (instance !== null) return instance;
  const made = ToolRegistry.discover(options, () => {
    if (instance === made) instance = null;
  });
  instance = made;
  made.catch(() => {
    if (instance === made) instance = null;
  });
  return made;
}

/** Tools of a folder, each read in an isolate and ready for calls. */
export class ToolRegistry implements AsyncDisposable {
  readonly engine: Engine;
  /** Folders and modules of its tools, in a form that may be shown. */
  readonly place: string;
  readonly #options: RegistryOptions;
  readonly #onClose: () => void;
  #tools = new Map<string, ToolInfo>();
  #warnings: readonly RegistryWarning[] = [];

  private constructor(options: RegistryOptions, engine: Engine, onClose: () => void) {
    this.engine = engine;
    this.#options = options;
    this.place = options.tools === undefined ? ELSEWHERE : this.#places().map(showPlace).join(", ");
    this.#onClose = onClose;
  }

  /** Creates a registry besides the process's. Rejects if a folder does not exist. */
  static async discover(options: RegistryOptions, onClose: () => void = () => undefined): Promise<ToolRegistry> {
    const registry = new ToolRegistry(options, options.engine ?? (await createEngine({ workers: 1 })), onClose);
    try {
      await registry.reload();
      return registry;
    } catch (error) {
      await registry.close();
      throw error;
    }
  }

  /** Rescans the folders, adds new tools and removes missing ones. */
  async reload(): Promise<void> {
    const modules = (await Promise.all(this.#places().map(findModules))).flat();
    const found = new Map<string, ToolInfo>();
    const warnings: RegistryWarning[] = [];
    const warn = (message: string, fields: Omit<RegistryWarning, "message">) => {
      warnings.push({ message, ...fields });
      this.#options.logger?.warn(fields, message);
    };
    for (const module of modules) {
      const { name } = module;
      // Sequential: of two tools with the same name the later one must replace the other in the engine as well.
      const read = await this.#read(module);
      if ("message" in read) {
        warn(read.message, { module_name: name, ...(read.error === undefined ? {} : { error: read.error }) });
        continue;
      }
      for (const tool of read) {
        const before = found.get(tool.id);
        if (before !== undefined) warn(DUPLICATE, { module_name: name, error: `${tool.id} of ${before.module_path}` });
        found.set(tool.id, tool);
      }
    }
    for (const id of this.#tools.keys()) if (!found.has(id)) await this.engine.unregister(id);
    this.#tools = found;
    this.#warnings = warnings;
  }

  /** Problems of modules in the last discovery. */
  get warnings(): readonly RegistryWarning[] {
    return this.#warnings;
  }

  list_all(): ToolInfo[] {
    return [...this.#tools.values()];
  }

  /** Entry with this id, or `null`. */
  get(id: string): ToolInfo | null {
    return this.#tools.get(id) ?? null;
  }

  /** Full path of the tool with this id; `null` for unknown ids and for full paths. */
  resolve(input: string): string | null {
    return this.get(input)?.import_path ?? null;
  }

  /** All names of tools: ids and full paths. */
  get_allowlist(): Set<string> {
    return new Set(this.list_all().flatMap(({ id, import_path }) => [id, import_path]));
  }

  /** Finds a tool by its id or its full path. */
  find(callable: string): ToolInfo | null {
    return this.get(callable) ?? this.list_all().find(({ import_path }) => import_path === callable) ?? null;
  }

  /** Closes the engine if it is the registry's own, and lets `getRegistry` create a new registry. */
  async close(): Promise<void> {
    this.#onClose();
    if (this.#options.engine === undefined) await this.engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #places(): readonly ToolPlace[] {
    return [this.#options.tools ?? OWN_TOOLS.map(referenceTool)].flat();
  }

  async #read({ location, name }: ToolModule): Promise<readonly ToolInfo[] | { message: string; error?: string }> {
    try {
      const found = await this.#namesBeside(location);
      const taken = found?.find((one) => this.#isOthers(one));
      if (taken !== undefined) return { message: TAKEN, error: taken };
      // The module is evaluated again and may then declare other names: `names` rejects those.
      const names = found === undefined ? {} : { names: found };
      const tools = await this.#register({ ...location, contract: "strands", ...names });
      const module_path = `${this.#options.package ?? PACKAGE}.${name}`;
      return tools.map((info) => ({
        id: info.name,
        module_path,
        // The engine uses the name of a tool without a description as its description.
        description: info.description === info.name ? "" : info.description,
        import_path: tools.length === 1 ? module_path : `${module_path}:${info.name}`,
      }));
    } catch (error) {
      if (!(error instanceof GloveboxError) || !SKIPPED.includes(error.code)) throw error;
      const { contract, pointer } = (error.details ?? {}) as { contract?: unknown; pointer?: unknown };
      if (contract !== undefined && contract !== "strands") return { message: NO_SPEC };
      if (pointer === "/TOOL_SPEC" || pointer === "/TOOL_SPEC/name") return { message: BAD_SPEC };
      return { message: NOT_LOADED, error: error.message };
    }
  }

  /** All tools of a module. The engine answers with the first only, and reports each to its listeners. */
  async #register(location: ToolLocation): Promise<readonly RegisteredInfo[]> {
    const tools: RegisteredInfo[] = [];
    const listen = (...[{ info }]: EventMap["tool:register"]): void => {
      if (info.contract === "strands") tools.push(info);
    };
    this.engine.on("tool:register", listen);
    try {
      await this.engine.register(location);
    } finally {
      this.engine.off("tool:register", listen);
    }
    return tools;
  }

  /**
   * Names of a module's tools, read before their registration if the engine has tools of other contracts: a dropped-in
   * module must not replace one of those.
   */
  async #namesBeside(location: ToolModule["location"]): Promise<readonly string[] | undefined> {
    if (this.engine.list().every(({ contract }) => contract === "strands")) return undefined;
    const [report] = await this.engine.describe({ ...location, contract: "strands" });
    const sdk = memberOf(report?.described, "tools");
    const specs: readonly unknown[] = [memberOf(report?.described, "TOOL_SPEC"), ...(Array.isArray(sdk) ? sdk : [])];
    const names = specs.map((spec) => memberOf(spec, "name")).filter((name) => typeof name === "string");
    return names.length === 0 ? undefined : names;
  }

  #isOthers(name: string): boolean {
    const tool = this.engine.get(name);
    return tool !== undefined && tool.contract !== "strands";
  }
}
