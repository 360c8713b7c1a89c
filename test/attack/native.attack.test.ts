import { attack } from "./harness.ts";
import type { End, Hazard } from "./plan.ts";

/** V8 does not interrupt these: the process is ended, at the call's budget or at its own memory. */
const CUT: readonly End[] = ["cpu_limit", "memory_limit"];
/** Some end by themselves on a fast machine, or V8 refuses them. */
const ANY: readonly End[] = [...CUT, "ok", "tool_error"];

const HUGE = "const huge = { length: 2 ** 53 - 1 };";
const SPARSE = "const a = []; a.length = 2 ** 32 - 1;";

/** Built-in functions of arrays over array-likes that have no end. */
const ARRAYS: readonly Hazard[] = [
  ["indexOf", `${HUGE} return Array.prototype.indexOf.call(huge, 1);`],
  ["fill", `${HUGE} return Array.prototype.fill.call(huge, 1);`],
  ["includes on a Proxy", `${HUGE} return Array.prototype.includes.call(new Proxy(huge, {}), 1);`],
  ["sort", `${SPARSE} return a.sort().length;`],
  ["splice", `${SPARSE} return a.splice(1, 5).length;`],
  ["reverse", `${HUGE} return Array.prototype.reverse.call(huge);`],
  ["flat", `${SPARSE} return a.flat(Infinity).length;`],
  ["copyWithin", `${HUGE} return Array.prototype.copyWithin.call(huge, 5, 1);`],
  ["toSorted", `${SPARSE} return a.toSorted().length;`],
  ["includes", `${HUGE} return Array.prototype.includes.call(huge, 1);`],
  ["lastIndexOf", `${HUGE} return Array.prototype.lastIndexOf.call(huge, 1);`],
  ["join", `${HUGE} huge.length = 2 ** 32; return Array.prototype.join.call(huge, '').length;`],
  ["concat", "const a = new Array(2 ** 22).fill(0); let b = a; for (;;) b = b.concat(a, a, a);"],
  ["unshift", `${SPARSE} a.length = 2 ** 32 - 3; return a.unshift(1, 2);`],
  ["shift", `${SPARSE} return a.shift();`],
  ["slice", `${SPARSE} return a.slice(1).length;`],
  ["toSpliced", "const a = new Array(2 ** 25).fill(0); for (;;) a.toSpliced(1, 1);"],
  ["toReversed", `${SPARSE} return a.toReversed().length;`],
  ["forEach", `${HUGE} return Array.prototype.forEach.call(huge, () => {});`],
  ["with", "const a = new Array(2 ** 25).fill(0); for (;;) a.with(1, 1);"],
].map(([method, body]) => ({ name: `${method} over something endless`, body: body ?? "", ends: ANY }));

/** Text, numbers and JSON that are too large for the function that gets them. */
const GIANTS: readonly Hazard[] = [
  {
    name: "JSON.parse of millions of arrays",
    body: "return JSON.parse('[' + '[1],'.repeat(1e7) + '1]').length;",
    ends: CUT,
  },
  { name: "JSON.parse of a long text of nothing", body: "return JSON.parse(' '.repeat(3e8) + '1');", ends: ANY },
  {
    name: "JSON.stringify of a giant",
    body: "const a = new Array(1e5).fill('x'.repeat(1e4)); return JSON.stringify(a).length;",
    ends: ANY,
  },
  {
    name: "JSON.stringify of a graph that doubles at each level",
    body: "let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; return JSON.stringify(a).length;",
    ends: CUT,
  },
  { name: "a BigInt that squares itself", body: "let b = 3n; for (;;) b *= b;", ends: ANY },
  { name: "a BigInt to the power of millions", body: "return String(7n ** 20_000_000n).length;", ends: ANY },
  { name: "a BigInt written out in decimal", body: "return (1n << 100_000_000n).toString().length;", ends: ANY },
  { name: "a BigInt read from millions of digits", body: "return BigInt('9'.repeat(1e8)) > 0n;", ends: ANY },
  {
    name: "replaceAll over hundreds of millions of characters",
    body: "return 'ab'.repeat(1e8).replaceAll('a', 'ccc').length;",
    ends: ANY,
  },
  {
    name: "lastIndexOf with a long needle",
    body: "return ('a'.repeat(2e8) + 'b').lastIndexOf('b' + 'a'.repeat(1e6));",
    ends: ANY,
  },
  { name: "normalize of a long text", body: "return 'é\\u0301'.repeat(1e8).normalize('NFD').length;", ends: ANY },
  { name: "the keys of a long string", body: "return Object.keys('a'.repeat(5e7)).length;", ends: ANY },
  {
    name: "a Segmenter over a long text",
    body: "return [...new Intl.Segmenter().segment('ab '.repeat(5e7))].length;",
    ends: ANY,
  },
  { name: "matches of a pattern by the million", body: "return 'a'.repeat(1e8).match(/a/g).length;", ends: ANY },
  {
    name: "a sealed array of millions",
    body: "for (;;) Object.freeze(new Array(2 ** 24).fill(0));",
    ends: CUT,
  },
  {
    name: "a typed array made from something endless",
    body: "return new Uint8Array({ length: 6e7 }).length;",
    ends: ANY,
  },
  {
    name: "a typed array that is searched without end",
    body: "const a = new Uint8Array(3e7); for (;;) a.indexOf(1);",
    ends: CUT,
  },
  {
    name: "addresses that the host takes apart, without end",
    body: "for (let i = 0; ; i++) new URL('http://a/' + i);",
    ends: CUT,
  },
  {
    name: "digests that the host computes, without end",
    body: "const b = new Uint8Array(1.6e7); return (async () => { for (;;) await crypto.subtle.digest('SHA-512', b); })();",
    ends: CUT,
  },
  {
    name: "code of a hundred megabytes",
    body: "return new Function('return ' + '1+'.repeat(5e7) + '1')();",
    ends: ["tool_error", ...CUT],
  },
];

attack("built-in functions that V8 does not interrupt", { hazards: [...ARRAYS, ...GIANTS] });
