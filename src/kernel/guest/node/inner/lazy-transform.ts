import { library } from "./library.ts";

/**
 * Base of classes that are streams for those who use them as such: hashes and ciphers. The module of streams is large,
 * and most code only calls `update`; so an object becomes a stream when something is read that only streams have.
 */

const { create, defineProperty, getOwnPropertyDescriptors, getPrototypeOf, isExtensible, setPrototypeOf } = Object;
const { isPrototypeOf } = Object.prototype;
const { apply, get } = Reflect;

/** Members that a class may have itself as long as its object is no stream. */
const SIMPLE: readonly string[] = ["write", "end", "read"];

type Done = (error: unknown, chunk?: unknown) => void;

/** Names of members that a class has for this base alone. */
export const TAKE = Symbol("take");
export const LAST = Symbol("last");

/** The prototypes that objects had before they became streams. */
const classes = new WeakMap<object, object>();
/** Objects whose input ended, and whose output nobody took, before they became streams. */
export const ended = new WeakSet<object>();

export abstract class LazyTransform {
  static [Symbol.hasInstance](this: { readonly prototype: object }, value: object): boolean {
    const { prototype } = this;
    if (apply(isPrototypeOf, prototype, [value])) return true;
    const before = classes.get(value);
    return before !== undefined && (before === prototype || apply(isPrototypeOf, prototype, [before]));
  }

  /** Takes a chunk, and gives what comes out at once. */
  abstract [TAKE](chunk: unknown, encoding: string): unknown;

  /** Returns the output at the end. */
  abstract [LAST](): unknown;
}

/** Makes an object a stream, which has its own prototype from then on. */
function becomeStream(object: LazyTransform): void {
  const { Transform } = streams();
  let members: { [name: string]: PropertyDescriptor } = {};
  for (let at = prototypeOf(object); at !== LazyTransform.prototype; at = prototypeOf(at))
    members = { ...getOwnPropertyDescriptors(at), ...members };
  for (const name of SIMPLE) delete members[name];
  const prototype = create(Transform.prototype, members) as object;
  const run = (done: Done, act: () => unknown): void => {
    let made: unknown;
    try {
      made = act();
    } catch (error) {
      done(error);
      return;
    }
    done(null, made);
  };
  defineProperty(prototype, "_transform", {
    value: (chunk: unknown, encoding: string, done: Done) => run(done, () => object[TAKE](chunk, encoding)),
  });
  defineProperty(prototype, "_flush", { value: (done: Done) => run(done, () => object[LAST]()) });
  classes.set(object, prototypeOf(object));
  setPrototypeOf(object, prototype);
  apply(Transform as never, object, []);
  if (ended.delete(object)) (object as unknown as { end(): void }).end();
}

const prototypeOf = (object: object): object => getPrototypeOf(object) as object;
const streams = () => library.module("stream") as { Transform: new () => object };

/** The language asks for these of any object: they do not load the module of streams. */
const isAskedOfAll = (name: string | symbol): boolean =>
  typeof name === "symbol" ? name !== Symbol.asyncIterator : name === "then" || name === "toJSON";

/** Whether streams have a member, among those that their constructor makes too. */
const isOfStreams = (name: string | symbol): boolean => !isAskedOfAll(name) && name in new (streams().Transform)();

// Behind the classes, so it is asked only for members that they lack.
const behind = new Proxy(
  {},
  {
    get(target, name, object: LazyTransform): unknown {
      // The prototypes themselves are frozen.
      if (name in target || !isExtensible(object) || !isOfStreams(name)) return get(target, name, object) as unknown;
      becomeStream(object);
      return get(object, name) as unknown;
    },
    has: (target, name) => name in target || isOfStreams(name),
  },
);
setPrototypeOf(LazyTransform.prototype, behind);
