import { isPluggedName } from "../base/protocol/script.ts";
import type { CustomCapability } from "../broker/capabilities/custom-types.ts";
import type { ExecutorFactory } from "../executor/executor-factory.ts";
import type { ModuleCapability } from "../broker/capabilities/module-capability.ts";
import type { SourcePlugin } from "./sources.ts";
import type { ToolContext } from "../tool/define-tool.ts";
import type { PreludeParts } from "../tool/runtimes/prelude.ts";
import type { ToolRuntime, ToolRuntimes } from "../tool/runtimes/runtime.ts";
import { libraryReader, type ModuleReader, type ModuleReaders } from "../tool/contracts/contract.ts";
import type { StoreFactories } from "../store/store-factory.ts";

/** A contract for modules: its reader in the host, and its adapter in a realm. */
export interface PluginContract {
  readonly reader: ModuleReader;
  /**
   * File of a module that exports `adapter`, a `ContractAdapter`. It becomes part of the first script of every realm,
   * and must not import from the host.
   */
  readonly adapter: URL;
}

/** Reads and calls the modules of a contract in a realm. It runs inside isolates, where tools cannot change it. */
export interface ContractAdapter {
  /** The name of its reader. */
  readonly name: string;
  /** Whether its exports have names of no other module: then it is tried before Glovebox's own contract. */
  readonly isDistinctive?: true;
  /** Classes whose objects modules get. A realm for several calls freezes them. */
  readonly classes?: readonly object[];
  /** Whether a module is written in this contract. */
  matches(exports: { readonly [name: string]: unknown }): boolean;
  /** The input of the reader's `readModule`, as JSON or a promise of it. */
  describe(exports: { readonly [name: string]: unknown }, facts: ModuleFacts): unknown;
  /** The tool in `facts`; with `lives`, for more than one call. Throws if the module has no tool of that name. */
  open(
    exports: { readonly [name: string]: unknown },
    facts: ModuleFacts,
    lives: boolean,
  ): (input: unknown, context: ToolContext, command: string | undefined) => unknown;
}

/** Facts about the tool whose module an adapter opens. */
export interface ModuleFacts {
  readonly name: string;
  readonly version: string;
  /** JSON text; `null` for a tool without one. */
  readonly config: string;
}

/** Libraries whose tools are objects. */
export interface PluginLibraries {
  readonly names: readonly string[];
  /** File of a module that exports `libraries`: how realms recognise, describe and call their tools. */
  readonly module: URL;
}

/** Additions of a package to an engine, which depends on the package only by this object. */
export interface Plugin {
  /** Unique among an engine's plugins. */
  readonly name: string;
  /** In the order in which their adapters are tried on a module. */
  readonly contracts?: readonly PluginContract[];
  /** Runtimes beside JavaScript. */
  readonly runtimes?: readonly ToolRuntime[];
  /** Capabilities beside the engine's own `capabilities`. */
  readonly capabilities?: readonly CustomCapability[];
  /** A kind of executor beside `process` and `threads`. */
  readonly executor?: ExecutorFactory;
  /** @internal Libraries whose tools are objects that modules export. */
  readonly libraries?: PluginLibraries;
  /** @internal Capabilities that the broker's thread carries out, by modules that it imports. */
  readonly modules?: readonly ModuleCapability[];
  /**
   * @internal Sources of tools, such as servers of other protocols. Its types expose a whole engine: not public yet.
   */
  readonly sources?: readonly SourcePlugin[];
  /** @internal Stores in place of files, for the options `kv`, `idempotency` and `calls` with a `url`. Not public yet. */
  readonly stores?: StoreFactories;
}

/** The additions of all plugins of an engine. */
export interface PluggedIn {
  readonly readers: ModuleReaders;
  readonly parts: PreludeParts;
  readonly runtimes: ToolRuntimes;
  readonly capabilities: readonly CustomCapability[];
  readonly executors: readonly ExecutorFactory[];
  readonly modules: readonly ModuleCapability[];
  readonly sources: readonly SourcePlugin[];
  readonly stores: StoreFactories;
}

/**
 * Throws a `TypeError` for two plugins, contracts or runtimes of one name, for two stores of one option, and for an
 * invalid name.
 */
export function resolvePlugins(plugins: readonly Plugin[]): PluggedIn {
  const names = new Set<string>();
  const brought = new Set<string>();
  const readers = new Map<string, ModuleReader>();
  const runtimes = new Map<string, ToolRuntime>();
  const adapters: URL[] = [];
  for (const { name, contracts = [], modules = [], runtimes: own = [], libraries } of plugins) {
    if (names.has(name)) throw new TypeError(`plugins: two are called ${JSON.stringify(name)}; give one of them`);
    names.add(name);
    for (const { name: capability } of modules) {
      if (brought.has(capability))
        throw new TypeError(`plugins: two bring the capability ${JSON.stringify(capability)}`);
      brought.add(capability);
    }
    for (const library of libraries?.names ?? []) {
      requireName("contract", library, name, readers);
      readers.set(library, libraryReader(library));
    }
    for (const runtime of own) {
      requireName("runtime", runtime.name, name, runtimes);
      runtimes.set(runtime.name, runtime);
    }
    for (const { reader, adapter } of contracts) {
      requireName("contract", reader.name, name, readers);
      readers.set(reader.name, reader);
      adapters.push(adapter);
    }
  }
  const libraries = plugins.flatMap(({ libraries }) => (libraries === undefined ? [] : [libraries.module]));
  const executors = plugins.flatMap(({ executor }) => (executor === undefined ? [] : [executor]));
  return {
    readers,
    parts: { adapters, libraries, runtimes: [...runtimes.values()] },
    runtimes,
    capabilities: plugins.flatMap(({ capabilities = [] }) => capabilities),
    executors,
    modules: plugins.flatMap(({ modules = [] }) => modules),
    sources: plugins.flatMap(({ sources = [] }) => sources),
    stores: storesOf(plugins),
  };
}

function storesOf(plugins: readonly Plugin[]): StoreFactories {
  return plugins.reduce<StoreFactories>((all, { stores = {} }) => {
    const twice = Object.keys(stores).find((option) => Object.hasOwn(all, option));
    if (twice !== undefined) throw new TypeError(`plugins: two bring a store for ${twice}.url; give one of them`);
    return { ...all, ...stores };
  }, {});
}

function requireName(
  kind: "contract" | "runtime",
  name: string,
  plugin: string,
  others: ReadonlyMap<string, unknown>,
): void {
  const shown = `plugin ${JSON.stringify(plugin)}: the ${kind} ${JSON.stringify(name)}`;
  if (!isPluggedName(name)) {
    throw new TypeError(`${shown} needs a name of lower-case letters, digits and hyphens, at most 64`);
  }
  if (name === OWN[kind] || others.has(name)) throw new TypeError(`${shown} has the name of another ${kind}`);
}

/** Names of the engine itself. */
const OWN = { contract: "glovebox", runtime: "javascript" } as const;
