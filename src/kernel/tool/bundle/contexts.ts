import { NODE_NAME } from "../../guest/host.ts";
import { AWAIT } from "./error.ts";

/** Bundles that use `AsyncLocalStorage`: see the library's `node:async_hooks`. */

/**
 * Syntax that such a bundle is made without: asynchronous functions become generators, which promises continue. A module's
 * own awaits would stay. */
export const LOWERED = { "async-await": false, "async-generator": false, "for-await": false, [AWAIT]: false } as const;

const MODULE = '("async_hooks"';

export function usesContexts(text: string): boolean {
  return text.includes(`${NODE_NAME}.`) && text.includes(MODULE) && text.includes("AsyncLocalStorage");
}

/** A call of a function around such a bundle, in which names of the web's keep the stores of where they are used. */
export function withContexts(call: string): string {
  const names = "Promise, { setTimeout, setInterval, queueMicrotask, fetch }";
  return `((${names}) => ${call})(${NODE_NAME}.BoundPromise, ${NODE_NAME}.boundGlobals)`;
}
