import { type Adapter, configOf, type Exports, isObject, methodOf } from "../../../kernel/guest/contracts/adapter.ts";

/** Xaibo: a class of tool providers, with `list_tools` and `execute_tool`. */
export const adapter: Adapter = {
  name: "xaibo",
  isDistinctive: true,
  matches: (exports) => !isOfAnother(exports) && providerIn(exports) !== undefined,
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

/** Whether a function makes the module one of another contract, in spite of its classes. */
function isOfAnother(exports: Exports): boolean {
  const [own, mount] = [exports["default"], exports["mount"]];
  return typeof mount === "function" || (typeof own === "function" && !isProvider(own));
}

type Provider = new (config: object) => unknown;

function create(exports: Exports, facts: Parameters<Adapter["open"]>[1]): unknown {
  const Class = providerIn(exports);
  if (Class === undefined) throw new TypeError("the module exports no class with list_tools and execute_tool");
  return new Class(configOf(facts));
}

/** The provider class that no other provider extends. Throws if there are two, as the choice would be ambiguous. */
function providerIn(exports: Exports): Provider | undefined {
  let provider: Provider | undefined;
  let others: Provider[] | undefined;
  for (const name of Object.keys(exports)) {
    const value = exports[name];
    if (!isProvider(value) || value === provider) continue;
    if (provider === undefined) provider = value;
    else (others ??= []).push(value);
  }
  // The fast path: every call comes here, and most modules have one provider.
  return provider === undefined || others === undefined ? provider : lastOf([provider, ...others]);
}

function lastOf(found: readonly Provider[]): Provider | undefined {
  const distinct = [...new Set(found)];
  const [provider, other] = distinct.filter((one) => !distinct.some((more) => extendsClass(more, one)));
  if (other !== undefined) throw new TypeError("the module exports two classes of providers; export one of them");
  return provider;
}

function isProvider(value: unknown): value is Provider {
  const prototype: unknown = typeof value === "function" ? value.prototype : undefined;
  return isObject(prototype) && hasMethod(prototype, "list_tools") && hasMethod(prototype, "execute_tool");
}

function hasMethod(value: object, name: string): boolean {
  return typeof Reflect.get(value, name) === "function";
}

function extendsClass(value: Provider, base: Provider): boolean {
  return Reflect.apply(Object.prototype.isPrototypeOf, base, [value]) as boolean;
}
