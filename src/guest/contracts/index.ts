import { type Adapter, type Exports, isObject, type ToolFunction } from "./adapter.ts";
import { agentspaceAdapter } from "./agentspace.ts";
import { amplifierAdapter } from "./amplifier.ts";
import { strandsAdapter } from "./strands.ts";
import { xaiboAdapter } from "./xaibo.ts";

/** Our own: `export const spec`, and a default export that takes the arguments and the context. */
const gloveboxAdapter: Adapter = {
  name: "glovebox",
  matches: (exports) => typeof exports["default"] === "function",
  describe: () => null,
  open: (exports) => {
    const tool = exports["default"];
    if (typeof tool !== "function") throw new TypeError("the module's default export is not a function");
    return tool as ToolFunction;
  },
};

/** In the order in which a module is tried: what says by name what it is goes before what may be anybody's. */
const ADAPTERS: readonly Adapter[] = [
  strandsAdapter,
  agentspaceAdapter,
  xaiboAdapter,
  gloveboxAdapter,
  amplifierAdapter,
];

/** The contract in which a module is written; our own, which then says what is missing, where it is none. */
export function findAdapter(exports: Exports): Adapter {
  return ADAPTERS.find((adapter) => adapter.matches(exports)) ?? gloveboxAdapter;
}

export function adapterNamed(name: string): Adapter {
  return ADAPTERS.find((adapter) => adapter.name === name) ?? gloveboxAdapter;
}

/** What a module exports: a CommonJS module has it all in its default export. */
export function exportsOf(module: object): Exports {
  const inner: unknown = Reflect.get(module, "default");
  return isObject(inner) && Object.keys(module).length === 1 ? (inner as Exports) : (module as Exports);
}
