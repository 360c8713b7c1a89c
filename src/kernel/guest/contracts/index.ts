import { describeExports } from "./find-tools.ts";
import { type Adapter, type Exports, isObject, type ToolFunction, withUndo } from "./adapter.ts";
import { definedIn, describeDefined, openDefined } from "./defined.ts";
import { toolSetAdapter } from "./tool-set.ts";

/**
 * Glovebox's own contract: a tool of `defineTool`; or `export const spec`, and a default export that takes the arguments
 * and the context. `export const undo` may be a function that undoes a call.
 */
const gloveboxAdapter: Adapter = {
  name: "glovebox",
  matches: (exports) => typeof exports["default"] === "function",
  describe: (exports) => {
    const defined = definedIn(exports);
    const undo = exports["undo"];
    if (defined !== undefined && exports["default"] === defined && undo !== undefined)
      throw new TypeError("what undoes a tool of defineTool is a member of it: move the export undo there");
    if (defined !== undefined) return describeDefined(defined);
    if (typeof exports["default"] !== "function") return { seen: describeExports(exports) };
    return undo === undefined ? null : { undo: typeof undo };
  },
  open: (exports) => {
    const defined = definedIn(exports);
    if (defined !== undefined) return openDefined(exports, defined);
    const tool = exports["default"];
    if (typeof tool !== "function") throw new TypeError("the module's default export is not a function");
    return withUndo(tool as ToolFunction, exports["undo"]);
  },
};

/** In matching order: contracts with distinctive export names come before those that match more modules. */
const ADAPTERS: Adapter[] = [gloveboxAdapter, toolSetAdapter];

/** Adds the adapter of a plugin's contract, after those that were added before it. The prelude's end calls this. */
export function addAdapter(adapter: Adapter): void {
  const next = adapter.isDistinctive === true ? gloveboxAdapter : toolSetAdapter;
  ADAPTERS.splice(ADAPTERS.indexOf(next), 0, adapter);
}

/** Classes of adapters whose objects modules get. */
export function adapterClasses(): readonly object[] {
  return ADAPTERS.flatMap(({ classes = [] }) => classes);
}

/** The contract that a module matches; by default Glovebox's own, which then reports the missing parts. */
export function findAdapter(exports: Exports): Adapter {
  if (definedIn(exports) !== undefined) return gloveboxAdapter;
  return ADAPTERS.find((adapter) => adapter.matches(exports)) ?? gloveboxAdapter;
}

/** The adapter of a contract. Every other name is a library, whose tools are all found in the same way. */
export function adapterNamed(name: string): Adapter {
  return ADAPTERS.find((adapter) => adapter.name === name) ?? toolSetAdapter;
}

/**
 * Exports of a module: those of a CommonJS module are all properties of its default export. If that is a function, it
 * is the default export too, as Node.js imports such a module; and so is its `run`, with `spec`.
 */
export function exportsOf(module: object): Exports {
  const inner: unknown = Reflect.get(module, "default");
  if (Object.keys(module).length === 1) {
    if (isObject(inner)) {
      const { default: main, spec, run } = inner as Exports;
      const isTool = main === undefined && isObject(spec) && typeof run === "function";
      return isTool ? { ...inner, default: run } : (inner as Exports);
    }
    if (typeof inner === "function") return Object.fromEntries([...Object.entries(inner), ["default", inner]]);
  }
  return module as Exports;
}
