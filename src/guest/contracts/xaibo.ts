import { type Adapter, configOf, type Exports, methodOf } from "./adapter.ts";

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

/** The first of the classes that no other one of them extends. */
function providerIn(exports: Exports): Provider | undefined {
  const found = Object.keys(exports)
    .map((name) => exports[name])
    .filter(isProvider);
  return found.find((one) => !found.some((other) => extendsClass(other, one)));
}

function isProvider(value: unknown): value is Provider {
  const prototype: unknown = typeof value === "function" ? value.prototype : undefined;
  return methodOf(prototype, "list_tools") !== undefined && methodOf(prototype, "execute_tool") !== undefined;
}

function extendsClass(value: Provider, base: Provider): boolean {
  return Reflect.apply(Object.prototype.isPrototypeOf, base, [value]) as boolean;
}
