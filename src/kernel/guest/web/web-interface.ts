/** A class that implements an interface of a web standard. */
interface InterfaceClass {
  readonly prototype: object;
}

/** Own properties of a class that are no members of its interface. */
const CLASS_KEYS: readonly string[] = ["length", "name", "prototype"];

/**
 * Makes a class look like an interface of a web standard: its instances print as `[object Name]`, and its members are
 * enumerable, static ones too. Call it in the class's static block.
 */
export function describeInterface(target: InterfaceClass, name: string): void {
  const { prototype } = target;
  for (const key of Object.getOwnPropertyNames(prototype)) {
    if (key !== "constructor") Object.defineProperty(prototype, key, { enumerable: true });
  }
  for (const key of Object.getOwnPropertyNames(target)) {
    if (!CLASS_KEYS.includes(key)) Object.defineProperty(target, key, { enumerable: true });
  }
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}

/** Defines the read-only constants of an interface, both on the class and on its prototype. */
export function defineConstants(target: InterfaceClass, constants: Iterable<readonly [string, number]>): void {
  for (const [name, value] of constants) {
    const descriptor = { value, enumerable: true };
    Object.defineProperty(target, name, descriptor);
    Object.defineProperty(target.prototype, name, descriptor);
  }
}
