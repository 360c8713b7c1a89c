import { ToolContext } from "../../../kernel/guest/tool-context.ts";

const { get } = Reflect;

export function memberOf(value: unknown, name: string): unknown {
  return (typeof value === "object" && value !== null) || typeof value === "function" ? get(value, name) : undefined;
}

export function textIn(value: object, name: string): string | undefined {
  const text = get(value, name) as unknown;
  return typeof text === "string" && text !== "" ? text : undefined;
}

export function isFunctionIn(value: object, name: string): boolean {
  return typeof get(value, name) === "function";
}

/** Context that an application passes to its tools: here the tool's config. `undefined` for a tool without one. */
export function configOf(context: ToolContext): object | undefined {
  const { config } = context;
  return typeof config === "object" && config !== null ? config : undefined;
}

/**
 * Throws an error about something that a library offers to its tools, and an isolate does not have; it says what there is
 * instead. An error without a class of its own: what calls share is frozen, and a class would have to be as well.
 */
export function refuseUse(what: string, instead: string): never {
  const message = `${what} is not available: a tool in an isolate belongs to no run of an agent; ${instead}`;
  throw Object.assign(new Error(message), { name: "AbsentError" });
}

/** An object whose members are absent, except `known`: using one throws. */
export function absent(what: string, instead: string, known: { readonly [key: string]: unknown } = {}): object {
  return new Proxy(known, {
    get: (target, key): unknown => {
      if (typeof key === "symbol" || Object.hasOwn(target, key)) return get(target, key);
      // Promises and `JSON.stringify` read these of every object.
      if (key === "then" || key === "toJSON") return undefined;
      return refuseUse(`${what}.${key}`, instead);
    },
  });
}

const MESSAGE_MAX = 1_000;

/** Reports a value that a tool gives before its last one. */
export function report(context: ToolContext, count: number, value: unknown): void {
  if (!ToolContext.isHeard(context)) return;
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  context.progress(count, undefined, text.slice(0, MESSAGE_MAX));
}
