/** A class that implements an interface of a web standard. */
interface InterfaceClass {
  readonly prototype: object;
}

/**
 * Makes a class look like an interface of a web standard: its instances print as `[object Name]`, and its members are
 * enumerable. Call it in the class's static block.
 */
export function describeInterface(target: InterfaceClass, name: string): void {
  const { prototype } = target;
  for (const key of Object.getOwnPropertyNames(prototype)) {
    if (key !== "constructor") Object.defineProperty(prototype, key, { enumerable: true });
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
