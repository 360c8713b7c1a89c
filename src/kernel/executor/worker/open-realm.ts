/**
 * What a bundle does only when it is called, and can do only in a realm of its own. A module that fails in a frozen
 * realm when it is loaded gets its own by itself; these would fail in each call.
 */

/** A variable of the global object whose name is computed. */
const MAKES_GLOBALS = /\b(?:globalThis|global|self|window)\[[\w$.]+\]\s*=(?!=)/;
/** A class of functions made of texts, which see such variables. */
const MAKES_CODE = /\bextends Function\b/;
/** A new member of a built-in object. */
const EXTENDS =
  /\bObject\.defineProperty\(\s*(Array|Iterator|JSON|Map|Math|Number|Object|Promise|RegExp|Set|String|Uint8Array)(\.prototype)?\s*,\s*["'](\w+)["']/g;

/** The reason why a bundle needs a realm that is not frozen; `undefined` if none is seen. */
export function needOfOpenRealm(text: string): string | undefined {
  if (MAKES_CODE.test(text) && MAKES_GLOBALS.test(text))
    return "the module makes variables of the global object for code that it makes of texts";
  for (const [, name = "", prototype, member = ""] of text.matchAll(EXTENDS)) {
    const built: object = Reflect.get(globalThis, name);
    const holder: object = prototype === undefined ? built : Reflect.get(built, "prototype");
    if (!(member in holder)) return `the module adds ${name}${prototype ?? ""}.${member} to the built-ins`;
  }
  return undefined;
}
