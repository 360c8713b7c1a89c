import { SCRIPT_EXPORTS } from "../../base/protocol/script.ts";
import { LOADS, NODE_NAME } from "../../guest/host.ts";
import { usesContexts, withContexts } from "./contexts.ts";

const CLAUSE = "export {";
/** esbuild's output for `require` outside of a plain call. */
const SHIM = "var __require = ";

/** Gives such uses of `require` the modules of Node. */
function withRequire(text: string): string {
  return text.replace(
    SHIM,
    `var require = Object.assign((name) => ${NODE_NAME}.require("module").createRequire()(name), { resolve: (name) => name }); ${SHIM}`,
  );
}

/** The last statement of a bundled CommonJS module. */
const DEFAULT = /(?:^|\n)export default (\w+\(\));?\s*$/;

/**
 * Turns a bundle in module form into statements that assign its exports to `SCRIPT_EXPORTS`.
 *
 * Workers evaluate a bundle again for every call. esbuild's own script format makes an object with getters of the
 * exports each time, which costs more than a small tool; here it is a plain object. A bundle's exports are in one
 * clause at its end. No line is added before the bundle's own, so that its source map stays valid.
 *
 * `awaits`: modules await at their top level. The object of the exports then has a promise that tells when it is filled.
 */
export function leaveExports(given: string, awaits = false): string {
  const text = withRequire(given);
  const called = (body: string, exported: string): string => {
    const call = `(() => { ${body}\nreturn ${exported};\n})()`;
    return `var ${SCRIPT_EXPORTS} = ${usesContexts(text) ? withContexts(call) : call};`;
  };
  const commonJs = DEFAULT.exec(text);
  if (commonJs !== null) return called(text.slice(0, commonJs.index), `{ default: ${commonJs[1]} }`);
  const start = text.startsWith(CLAUSE) ? 0 : text.lastIndexOf(`\n${CLAUSE}`) + 1;
  const clause = /^export \{([^}]*)\};?\s*$/.exec(text.slice(start));
  const body = clause === null ? text : text.slice(0, start);
  const members = (clause?.[1] ?? "").split(",").flatMap((part) => {
    const [local = "", exported = local] = part.trim().split(" as ");
    return local === "" ? [] : [`${exported}: ${local}`];
  });
  const exported = `{ ${members.join(", ")} }`;
  if (!awaits) return called(body, exported);
  const filled = `(async () => { ${body}\nObject.assign(${SCRIPT_EXPORTS}, ${exported});\n})()`;
  return `var ${SCRIPT_EXPORTS} = {}; Object.defineProperty(${SCRIPT_EXPORTS}, "${LOADS}", { value: ${filled} });`;
}
