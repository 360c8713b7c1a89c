/**
 * Signs of code that fails in a frozen realm at each call, and not when its module is loaded: a module that fails then
 * gets an open realm by itself.
 */

/** A variable of the global object whose name is computed. */
const MAKES_GLOBALS = /\b(?:globalThis|global|self|window)\[[\w$.]+\]\s*=(?!=)/;
/** A class of functions made of texts, which see such variables. */
const MAKES_CODE = /\bextends Function\b/;
/** A new member of a built-in object. One between underscores is a way to the global object for engines without one. */
const EXTENDS =
  /\bObject\.defineProperty\(\s*(Array|Iterator|JSON|Map|Math|Number|Object|Promise|RegExp|Set|String|Uint8Array)(\.prototype)?\s*,\s*["'](?!__\w+__["'])(\w+)["']/g;

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
