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

/** A contract in which modules may be written: how the host reads them, and how a realm calls them. */
export interface PluginContract {
  readonly reader: ModuleReader;
  /**
   * File of a module that exports `adapter`, a `ContractAdapter`. It becomes part of the first script of every realm, and
   * imports nothing of the host.
   */
  readonly adapter: URL;
}

/** How a realm reads and calls the modules of a contract. It runs inside isolates, where tools cannot change it. */
export interface ContractAdapter {
  /** As its reader is called. */
  readonly name: string;
  /** Whether its exports have names that no other module would have: then it is asked before Glovebox's own contract. */
  readonly isDistinctive?: true;
  /** Classes whose objects modules get. A realm of several calls freezes them. */
  readonly classes?: readonly object[];
  /** Whether a module is written in this contract. */
  matches(exports: { readonly [name: string]: unknown }): boolean;
  /** What the reader's `readModule` gets, as JSON or a promise of it. */
  describe(exports: { readonly [name: string]: unknown }, facts: ModuleFacts): unknown;
  /** The tool that `facts` name; with `lives`, for more than one call. Throws if the module has none of that name. */
  open(
    exports: { readonly [name: string]: unknown },
    facts: ModuleFacts,
    lives: boolean,
  ): (input: unknown, context: ToolContext, command: string | undefined) => unknown;
}

/** Of the tool whose module an adapter opens. */
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

/** Additions of a package to an engine, which knows the package by this object alone. */
export interface Plugin {
  /** Unique among an engine's plugins. */
  readonly name: string;
  /** In the order in which their adapters are asked whether a module is theirs. */
  readonly contracts?: readonly PluginContract[];
  /** Beside JavaScript. */
  readonly runtimes?: readonly ToolRuntime[];
  /** Beside the engine's own `capabilities`. */
  readonly capabilities?: readonly CustomCapability[];
  /** A kind of executor beside `process` and `threads`. */
  readonly executor?: ExecutorFactory;
  /** @internal Libraries whose tools are objects that modules export. */
  readonly libraries?: PluginLibraries;
  /** @internal Capabilities that the broker's thread carries out, by modules that it imports. */
  readonly modules?: readonly ModuleCapability[];
  /** @internal Sources of tools, such as servers of other protocols. Its types show all of an engine: not public yet. */
  readonly sources?: readonly SourcePlugin[];
  /** @internal Stores in place of files, for the options `kv`, `idempotency` and `calls` with a `url`. Not public yet. */
  readonly stores?: StoreFactories;
}

/** What all plugins of an engine add to it. */
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
 * Throws a `TypeError` for two plugins, contracts or runtimes of one name, for two stores of one option, and for a name
 * that cannot be one.
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

/** Those of the engine itself. */
const OWN = { contract: "glovebox", runtime: "javascript" } as const;
