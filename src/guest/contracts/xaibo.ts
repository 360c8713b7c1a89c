import { type Adapter, configOf, type Exports, isObject, methodOf } from "./adapter.ts";

/** Xaibo: a class of tool providers, with `list_tools` and `execute_tool`. */
export const xaiboAdapter: Adapter = {
  name: "xaibo",
  matches: (exports) => providerIn(exports) !== undefined,
  describe: async (exports, facts) => {
    const provider = create(exports, facts);
    const name = providerIn(exports)?.name ?? "";
    return { provider: name, tools: (await methodOf(provider, "list_tools")?.()) ?? null };
  },
  open: (exports, facts) => {
    const provider = create(exports, facts);
    return (input) => methodOf(provider, "execute_tool")?.(facts.name, input);
  },
};

type Provider = new (config: object) => unknown;

function create(exports: Exports, facts: Parameters<Adapter["open"]>[1]): unknown {
  const Class = providerIn(exports);
  if (Class === undefined) throw new TypeError("the module exports no class with list_tools and execute_tool");
  return new Class(configOf(facts));
}

function providerIn(exports: Exports): Provider | undefined {
  for (const name of Object.keys(exports)) {
    const value = exports[name];
    const prototype: unknown = typeof value === "function" ? value.prototype : undefined;
    if (!isObject(prototype)) continue;
    if (methodOf(prototype, "list_tools") !== undefined && methodOf(prototype, "execute_tool") !== undefined) {
      return value as Provider;
    }
  }
  return undefined;
}
