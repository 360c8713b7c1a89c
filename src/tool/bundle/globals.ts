/** Names that polyfills give the global by whatever name they know it, and that Node's packages then use freely. */
const OF_NODE = "Buffer|process|setImmediate|clearImmediate";
const ASSIGNED = new RegExp(
  String.raw`(?:\b(?:globalThis|window)\.([A-Za-z_$][\w$]*)|\.(${OF_NODE}))\s*(?:\|\||\?\?)?=(?![=>])`,
  "g",
);
const MAX_NAMES = 100;
/** What the bundler gives a meaning of its own, and what cannot be used freely. */
const NOT_FREE = (
  "globalThis global require module exports break case catch class const continue debugger default delete do else enum " +
  "export extends false finally for function if import in instanceof new null return super switch this throw true try " +
  "typeof var void while with"
).split(" ");

/**
 * What a bundle defines on its global, as definitions for the bundler that make free uses of these names look there.
 *
 * An instance's global is an object of its own above a frozen one, and a free name is looked up in the frozen one: so
 * `globalThis.Buffer = Buffer` would otherwise help nobody who says `Buffer`.
 */
export function globalDefinitions(text: string): Readonly<Record<string, string>> {
  const names = new Set<string>();
  for (const [, own, ofNode] of text.matchAll(ASSIGNED)) {
    names.add(own ?? ofNode ?? "");
    if (names.size >= MAX_NAMES) break;
  }
  for (const name of NOT_FREE) names.delete(name);
  return Object.fromEntries([...names].map((name) => [name, `globalThis.${name}`]));
}
