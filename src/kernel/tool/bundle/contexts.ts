import { NODE_NAME } from "../../guest/host.ts";
import { AWAIT } from "./error.ts";

/** Bundles that use `AsyncLocalStorage`: see the library's `node:async_hooks`. */

/**
 * Syntax that such a bundle is made without: asynchronous functions become generators, which promises continue. A module's
 * own awaits would stay. */
export const LOWERED = { "async-await": false, "async-generator": false, "for-await": false, [AWAIT]: false } as const;

const USE = new RegExp(String.raw`\b${NODE_NAME}\.(?:member|require)\("async_hooks"(?:, "AsyncLocalStorage")?\)`);

export function usesContexts(text: string): boolean {
  return USE.test(text) && text.includes("AsyncLocalStorage");
}

const RESUMED = 'resume(k === "return" ? k : "next", v[1] ?';
const DELEGATED = /(value: new __await\(new Promise\(\(resolve\) => \{[^}]{0,400}\}\), )1\)/;

/**
 * esbuild 0.28 resumes a generator that is told to return by a second `return` after each `await`, which leaves out the
 * rest of a `finally`. Only a `yield*` hands it on. Lines stay where they are, for the source map.
 */
export function withWholeFinally(text: string): string {
  return text.replace(RESUMED, 'resume(v[1] === "return" ? v[1] : "next", v[1] ?').replace(DELEGATED, "$1k)");
}

/** A call of a function around such a bundle, in which names of the web's keep the stores of where they are used. */
export function withContexts(call: string): string {
  const names = "Promise, { setTimeout, setInterval, queueMicrotask, fetch }";
  return `((${names}) => ${call})(${NODE_NAME}.BoundPromise, ${NODE_NAME}.boundGlobals)`;
}
