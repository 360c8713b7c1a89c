import { describeExports } from "../libraries/find-tools.ts";
import { type Adapter, type Exports, isObject, type ToolFunction } from "./adapter.ts";
import { agentspaceAdapter } from "./agentspace.ts";
import { amplifierAdapter } from "./amplifier.ts";
import { definedIn, describeDefined, openDefined } from "./defined.ts";
import { strandsAdapter } from "./strands.ts";
import { toolSetAdapter } from "./tool-set.ts";
import { xaiboAdapter } from "./xaibo.ts";

/**
 * Glovebox's own contract: a tool of `defineTool`; or `export const spec`, and a default export that takes the arguments
 * and the context.
 */
const gloveboxAdapter: Adapter = {
  name: "glovebox",
  matches: (exports) => typeof exports["default"] === "function",
  describe: (exports) => {
    const defined = definedIn(exports);
    if (defined !== undefined) return describeDefined(defined);
    return typeof exports["default"] === "function" ? null : { seen: describeExports(exports) };
  },
  open: (exports) => {
    const defined = definedIn(exports);
    if (defined !== undefined) return openDefined(exports, defined);
    const tool = exports["default"];
    if (typeof tool !== "function") throw new TypeError("the module's default export is not a function");
    return tool as ToolFunction;
  },
};

/** In matching order: contracts with distinctive export names come before those that match more modules. */
const ADAPTERS: readonly Adapter[] = [
  strandsAdapter,
  agentspaceAdapter,
  xaiboAdapter,
  gloveboxAdapter,
  amplifierAdapter,
  toolSetAdapter,
];

/** The contract that a module matches; by default Glovebox's own, which then reports what is missing. */
export function findAdapter(exports: Exports): Adapter {
  if (definedIn(exports) !== undefined) return gloveboxAdapter;
  return ADAPTERS.find((adapter) => adapter.matches(exports)) ?? gloveboxAdapter;
}

/** The adapter of a contract. Every other name is a library, whose tools are found in one way. */
export function adapterNamed(name: string): Adapter {
  return ADAPTERS.find((adapter) => adapter.name === name) ?? toolSetAdapter;
}

/** Exports of a module: those of a CommonJS module are all properties of its default export. */
export function exportsOf(module: object): Exports {
  const inner: unknown = Reflect.get(module, "default");
  return isObject(inner) && Object.keys(module).length === 1 ? (inner as Exports) : (module as Exports);
}
