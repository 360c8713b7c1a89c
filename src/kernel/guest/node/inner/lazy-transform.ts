import { library } from "./library.ts";

/**
 * Base of classes that are streams for those who use them as such: hashes and ciphers. The module of streams is large,
 * and most code only calls `update`; so an object becomes a stream when something is read that only streams have.
 */

const { create, defineProperty, getOwnPropertyDescriptors, getPrototypeOf, isExtensible, setPrototypeOf } = Object;
const { apply, get } = Reflect;

const MEMBERS: readonly (string | symbol)[] = [
  ..."on once off emit addListener removeListener removeAllListeners prependListener prependOnceListener".split(" "),
  ..."listeners rawListeners listenerCount eventNames setMaxListeners getMaxListeners pipe unpipe read push".split(" "),
  ..."pause resume isPaused setEncoding destroy iterator toArray map filter forEach reduce write end cork".split(" "),
  ..."uncork setDefaultEncoding _readableState _writableState readable writable destroyed closed errored".split(" "),
  ..."readableEnded readableFlowing readableLength readableHighWaterMark readableObjectMode".split(" "),
  ..."writableEnded writableFinished writableLength writableHighWaterMark writableNeedDrain".split(" "),
  Symbol.asyncIterator,
];
/** Members that a class may have itself as long as its object is no stream. */
const SIMPLE: readonly string[] = ["write", "end", "read"];

type Done = (error: unknown, chunk?: unknown) => void;

/** Names of members that a class has for this base alone. */
export const TAKE = Symbol("take");
export const LAST = Symbol("last");

export abstract class LazyTransform {
  /** Takes a chunk, and gives what comes out at once. */
  abstract [TAKE](chunk: unknown, encoding: string): unknown;

  /** Returns the output at the end. */
  abstract [LAST](): unknown;
}

/** Makes an object a stream, which has its own prototype from then on. */
function becomeStream(object: LazyTransform): void {
  const { Transform } = library.module("stream") as { Transform: { prototype: object } };
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
  setPrototypeOf(object, prototype);
  apply(Transform as never, object, []);
}

const prototypeOf = (object: object): object => getPrototypeOf(object) as object;

for (const name of MEMBERS) {
  defineProperty(LazyTransform.prototype, name, {
    get(this: LazyTransform): unknown {
      // The prototypes themselves are frozen.
      if (!isExtensible(this)) return undefined;
      becomeStream(this);
      return get(this, name) as unknown;
    },
    set(this: LazyTransform, value: unknown) {
      defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
    },
    configurable: true,
  });
}
