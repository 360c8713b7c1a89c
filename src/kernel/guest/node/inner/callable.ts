/** Classes that can be extended without `class`: `Base.call(this)` prepares an object, as in Node. */

const { apply, construct } = Reflect;
const { defineProperty, getPrototypeOf, setPrototypeOf } = Object;

/** On a stand-in for a class (`new.target`): the existing object, which a constructor prepares instead of a new one. */
const INTO = Symbol("into");

interface Target {
  readonly [INTO]?: object;
}
type Function = (this: object, ...args: never[]) => unknown;

/** The class that such a class extends, in place of `Base`. */
export function rootOf<T>(Base: T): T {
  const root = function (this: unknown, ...args: never[]): unknown {
    const into = (new.target as Target | undefined)?.[INTO];
    if (into === undefined) return construct(Base as Function, args, new.target as unknown as Function) as unknown;
    apply(Base as Function, into, args);
    return into;
  };
  root.prototype = (Base as { prototype: object }).prototype;
  setPrototypeOf(root, Base as object);
  return root as T;
}

/** The exported class. */
export function callable<T extends new (...args: never[]) => object>(Class: T): T {
  const { name, prototype } = Class as unknown as { name: string; prototype: object };
  const made = function (this: unknown, ...args: never[]): unknown {
    if (new.target !== undefined) return construct(Class, args, new.target as unknown as Function) as unknown;
    return construct(Class, args, this instanceof made ? targetOf(prototype, this) : Class);
  };
  made.prototype = prototype;
  setPrototypeOf(made, getPrototypeOf(Class) as object);
  defineProperty(made, "name", { value: name, configurable: true });
  defineProperty(prototype, "constructor", { value: made, writable: true, configurable: true });
  return made as unknown as T;
}

function targetOf(prototype: object, into: object): Function {
  const target = function (): void {};
  target.prototype = prototype;
  return Object.assign(target, { [INTO]: into });
}
