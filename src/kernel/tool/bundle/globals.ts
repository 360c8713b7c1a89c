import { NODE_NAME } from "../../guest/host.ts";

const ASSIGNED = /\b(?:globalThis|window|getGlobalThis\d*\(\))\.([A-Za-z_$][\w$]*)\s*(?:\|\||\?\?)?=(?![=>])/g;
const MAX_NAMES = 100;
/** Names with a special meaning for the bundler, and names that cannot be free variables. */
const NOT_FREE = (
  "globalThis global require module exports break case catch class const continue debugger default delete do else enum " +
  "export extends false finally for function if import in instanceof new null return super switch this throw true try " +
  "typeof var void while with"
).split(" ");

/** Uses of a timer that Node's have and the web's, which are numbers, have not. */
const NODE_TIMERS = /\.(?:unref|refresh|hasRef)\(\)|\bpromisify\d*\)?\(\s*(?:globalThis\.)?setTimeout\b/;
const TIMERS = ["setTimeout", "setInterval", "clearTimeout", "clearInterval"];

function timerDefinitions(): readonly (readonly [string, string])[] {
  return TIMERS.flatMap((name) =>
    [name, `globalThis.${name}`, `global.${name}`].map((used) => [used, `${NODE_NAME}.${name}`] as const),
  );
}

/**
 * Definitions for the bundler that redirect free uses of names that a bundle assigns on its global.
 *
 * An instance's global is a separate object above a frozen one, and free names are looked up in the frozen one: without
 * this, `globalThis.Response = Response` would not make `Response` visible.
 */
export function globalDefinitions(text: string): Readonly<Record<string, string>> {
  const names = new Set<string>();
  for (const [, name = ""] of text.matchAll(ASSIGNED)) {
    names.add(name);
    if (names.size >= MAX_NAMES) break;
  }
  for (const name of NOT_FREE) names.delete(name);
  const assigned = [...names].map((name) => [name, `globalThis.${name}`] as const);
  return Object.fromEntries([...(NODE_TIMERS.test(text) ? timerDefinitions() : []), ...assigned]);
}
