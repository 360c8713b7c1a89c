import { createEngine, type Engine } from "../../engine/engine.ts";
import { type ErrorCode, GloveboxError } from "../../base/errors.ts";
import type { Logger } from "../../engine/telemetry/log.ts";
import { referenceTool } from "../reference-tools.ts";
import { findModules, showPlace, type ToolModule, type ToolPlace } from "./tool-modules.ts";

/** What the registry knows of a tool. */
export interface ToolInfo {
  /** The name in its `TOOL_SPEC`. */
  readonly id: string;
  /** Its full path: `strands_cli.tools.echo`. */
  readonly module_path: string;
  /** `""` where its `TOOL_SPEC` has none. */
  readonly description: string;
  /** The same as `module_path`: what it is loaded by. */
  readonly import_path: string;
}

/** A module that is not among the tools, or took another one's place, and why. */
export interface RegistryWarning {
  readonly message: string;
  readonly module_name: string;
  readonly error?: string;
}

export interface RegistryOptions {
  /** Where tools are run; they are registered in it. Default: an engine of the registry's own, which it closes. */
  readonly engine?: Engine;
  /**
   * The folder of tools, or several folders and modules; of tools with the same name the last one stays. Default: the
   * engine's own `calculator`, `echo`, `js_exec`, and `python_exec` where Pyodide is installed.
   */
  readonly tools?: ToolPlace | readonly ToolPlace[];
  /** What full paths begin with. Default: `strands_cli.tools`, as in the documents. */
  readonly package?: string;
  /** Gets every warning. Default: none; they are in `warnings` as well. */
  readonly logger?: Pick<Logger, "warn">;
}

const PACKAGE = "strands_cli.tools";
/** Texts of the documents. */
const NO_SPEC = "Tool module missing TOOL_SPEC, skipping";
const BAD_SPEC = "Tool module has invalid TOOL_SPEC (missing 'name'), skipping";
const SKIPPED: readonly ErrorCode[] = ["load_error", "missing_package"];
const NOT_LOADED = "Failed to import tool module, skipping";
const DUPLICATE = "Duplicate tool name, the module discovered last wins";

const TAKEN = "Tool name is that of another tool of the engine, skipping";

/** `python_exec` is left out, with a warning, where Pyodide is not installed. */
const OWN_TOOLS = ["calculator", "echo", "js_exec", "python_exec"] as const;
const ELSEWHERE = "a tools folder of your own";

/** Of a process: the first call makes it. */
let instance: Promise<ToolRegistry> | null = null;

/**
 * The process's registry. The first call makes it, discovers its tools, and may say where they are; every later one
 * answers the same object, whatever it says. Closing the registry makes room for another one.
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

/** The tools of a folder, each read in an isolate and ready to be called. */
export class ToolRegistry implements AsyncDisposable {
  readonly engine: Engine;
  /** The folders and modules of its tools, as they may be shown. */
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

  /** A registry of its own, beside the process's. Rejects where a folder does not exist. */
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

  /** Looks through the folder again: tools that were added are there then, those that were removed are not. */
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
      // One after the other: of two tools with the same name the later one replaces the other in the engine as well.
      const read = await this.#read(module);
      if ("message" in read) {
        warn(read.message, { module_name: name, ...(read.error === undefined ? {} : { error: read.error }) });
        continue;
      }
      const before = found.get(read.id);
      if (before !== undefined) warn(DUPLICATE, { module_name: name, error: `${read.id} of ${before.module_path}` });
      found.set(read.id, read);
    }
    for (const id of this.#tools.keys()) if (!found.has(id)) await this.engine.unregister(id);
    this.#tools = found;
    this.#warnings = warnings;
  }

  /** What was wrong with modules of the last discovery. */
  get warnings(): readonly RegistryWarning[] {
    return this.#warnings;
  }

  list_all(): ToolInfo[] {
    return [...this.#tools.values()];
  }

  /** The entry with this id, or `null`. */
  get(id: string): ToolInfo | null {
    return this.#tools.get(id) ?? null;
  }

  /** Full path of the tool with this id; `null` for unknown ids and for full paths. */
  resolve(input: string): string | null {
    return this.get(input)?.import_path ?? null;
  }

  /** Every way to name a tool: its id, and its full path. */
  get_allowlist(): Set<string> {
    return new Set(this.list_all().flatMap(({ id, import_path }) => [id, import_path]));
  }

  /** The tool that a workflow means, by its id or its full path. */
  find(callable: string): ToolInfo | null {
    return this.get(callable) ?? this.list_all().find(({ import_path }) => import_path === callable) ?? null;
  }

  /** Closes the engine where it is the registry's own, and makes room for another process's registry. */
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

  async #read({ location, name }: ToolModule): Promise<ToolInfo | { message: string; error?: string }> {
    try {
      const found = await this.#nameBeside(location);
      if (found !== undefined && this.#isOthers(found)) return { message: TAKEN, error: found };
      // It is loaded once more, and may say something else then.
      const names = found === undefined ? {} : { names: [found] };
      const info = await this.engine.register({ ...location, contract: "strands", ...names });
      // The engine gives a tool without a description its name.
      const description = info.description === info.name ? "" : info.description;
      const module_path = `${this.#options.package ?? PACKAGE}.${name}`;
      return { id: info.name, module_path, description, import_path: module_path };
    } catch (error) {
      if (!(error instanceof GloveboxError) || !SKIPPED.includes(error.code)) throw error;
      const { contract, pointer } = (error.details ?? {}) as { contract?: unknown; pointer?: unknown };
      if (contract !== undefined && contract !== "strands") return { message: NO_SPEC };
      if (pointer === "/TOOL_SPEC" || pointer === "/TOOL_SPEC/name") return { message: BAD_SPEC };
      return { message: NOT_LOADED, error: error.message };
    }
  }

  /** The name of a module's tool, where the engine has tools of somebody else: who drops a module in may take none over. */
  async #nameBeside(location: ToolModule["location"]): Promise<string | undefined> {
    if (this.engine.list().every(({ contract }) => contract === "strands")) return undefined;
    const [report] = await this.engine.describe({ ...location, contract: "strands" });
    const { TOOL_SPEC } = (report?.described ?? {}) as { readonly TOOL_SPEC?: { readonly name?: unknown } | null };
    return typeof TOOL_SPEC?.name === "string" ? TOOL_SPEC.name : undefined;
  }

  #isOthers(name: string): boolean {
    const tool = this.engine.get(name);
    return tool !== undefined && tool.contract !== "strands";
  }
}
