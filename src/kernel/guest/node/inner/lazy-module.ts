import type { NodeModule } from "./library.ts";

const { defineProperty, getOwnPropertyDescriptor } = Object;
const { ownKeys } = Reflect;

/**
 * An instance's module. Most code calls only one or two functions, which instances share. Any other use makes the
 * instance's own copy, in which it may replace members. `shared` returns a member without a copy; `undefined` if it
 * is missing.
 */
export function lazyModule(shared: (member: string) => unknown, fill: (module: NodeModule) => void): NodeModule {
  return new Proxy({}, new Members(shared, fill));
}

class Members implements ProxyHandler<NodeModule> {
  readonly #shared: (member: string) => unknown;
  /** `null` once the module has its members. */
  #fill: ((module: NodeModule) => void) | null;

  constructor(shared: (member: string) => unknown, fill: (module: NodeModule) => void) {
    this.#shared = shared;
    this.#fill = fill;
  }

  #all(module: NodeModule): NodeModule {
    this.#fill?.(module);
    this.#fill = null;
    return module;
  }

  get(module: NodeModule, key: string | symbol): unknown {
    const shared = this.#fill === null || typeof key === "symbol" ? undefined : this.#shared(key);
    return shared ?? Reflect.get(module, key);
  }

  set(module: NodeModule, key: string | symbol, value: unknown): boolean {
    return Reflect.set(this.#all(module), key, value);
  }

  has(module: NodeModule, key: string | symbol): boolean {
    return Reflect.has(this.#all(module), key);
  }

  deleteProperty(module: NodeModule, key: string | symbol): boolean {
    return Reflect.deleteProperty(this.#all(module), key);
  }

  defineProperty(module: NodeModule, key: string | symbol, property: PropertyDescriptor): boolean {
    return Reflect.defineProperty(this.#all(module), key, property);
  }

  getOwnPropertyDescriptor(module: NodeModule, key: string | symbol): PropertyDescriptor | undefined {
    return Reflect.getOwnPropertyDescriptor(this.#all(module), key);
  }

  ownKeys(module: NodeModule): (string | symbol)[] {
    return Reflect.ownKeys(this.#all(module));
  }

  preventExtensions(module: NodeModule): boolean {
    return Reflect.preventExtensions(this.#all(module));
  }
}

/** Copies members without reading those that are made when they are read. Each may be replaced in the copy. */
export function copyMembers(from: object, to: NodeModule): void {
  for (const key of ownKeys(from)) {
    const { value, get, set = replacing(key) } = getOwnPropertyDescriptor(from, key) ?? {};
    if (get === undefined) to[key as string] = value as unknown;
    else defineProperty(to, key, { get, set, enumerable: true, configurable: true });
  }
}

/** A setter that replaces a getter by a value. */
export function replacing(key: PropertyKey) {
  return function (this: object, value: unknown): void {
    defineProperty(this, key, { value, writable: true, enumerable: true, configurable: true });
  };
}
