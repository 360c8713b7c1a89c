import type { Program } from "./programs.ts";

/** A subtest: its name, and the harness's message if it does not pass. */
export interface Subtest {
  readonly name: string;
  readonly failure: string | null;
}

/** Subtests of a program, and why it did not end as it should, if it did not. */
export interface Run {
  readonly subtests: readonly Subtest[];
  readonly failure: string | null;
}

/** What a runner reports: JSON, because it comes from a worker thread or a tool. */
export interface Report {
  readonly failure: string | null;
  readonly results: readonly (readonly [name: string, status: number, message: string | null])[];
}

/** A program reports at the latest then, what has ended so far. */
export const REPORT_MS = 20_000;

/**
 * How a script finds its globals: `eval` runs it in the global scope, as a page does; `with` in a scope around it, where
 * the global's built-ins are frozen and a script cannot define any.
 */
export type Scope = "eval" | "with";

const EVALUATE: Readonly<Record<Scope, string>> = {
  eval: "(0, eval)",
  with: "(script) => Reflect.apply(new Function('global', `with (global) {\\n${script}\\n}`), global, [global])",
};

/** A parameter list and a body: runs a program with the suite's harness, in Node and in a tool alike. */
export function runnerText(scope: Scope, reportMs = REPORT_MS): readonly string[] {
  return [
    "harness",
    "program",
    "global",
    BODY.replace("EVALUATE", () => EVALUATE[scope]).replace("REPORT_MS", () => String(reportMs)),
  ];
}

const BODY = `
const { fetch, Response, URL, Promise, setTimeout } = global;
const define = (name, value) =>
  Object.defineProperty(global, name, { value, writable: true, enumerable: true, configurable: true });
const [pathname, variant] = ("/" + program.name).split("?");
const search = variant === undefined ? "" : "?" + variant;
const origin = "http://web-platform.test";
define("self", global);
define("GLOBAL", { isWindow: () => false, isWorker: () => false, isShadowRealm: () => false });
define("location", { origin, pathname, search, href: origin + pathname + search, host: "web-platform.test", protocol: "http:" });
// The suite's server gives files beside the test.
define("fetch", function (input) {
  const url = typeof input === "string" ? URL.parse(input, origin + pathname) : null;
  const text = url?.origin === origin ? program.files[url.pathname] : undefined;
  return text === undefined ? Reflect.apply(fetch, this, arguments) : Promise.resolve(new Response(text));
});
const evaluate = EVALUATE;
const results = [];
const ended = Promise.withResolvers();
evaluate(harness);
global.setup({ explicit_timeout: true });
global.add_result_callback(({ name, status, message }) => results.push([name, status, message]));
global.add_completion_callback((_tests, { status, message }) => ended.resolve(status === 0 ? null : message));
setTimeout(() => ended.resolve("its time is over"), REPORT_MS);
let failure = null;
try {
  evaluate(program.script);
} catch (error) {
  // What the script has begun goes on, as on a page.
  failure = String(error);
  global.done();
}
return ended.promise.then((problem) => ({ failure: failure ?? problem, results }));
`;

/** Names are made unique: some files use one several times. */
export function runOf({ failure, results }: Report): Run {
  const counts = new Map<string, number>();
  const subtests = results.map(([given, status, message]) => {
    const count = (counts.get(given) ?? 0) + 1;
    counts.set(given, count);
    return { name: count === 1 ? given : `${given} #${count}`, failure: status === 0 ? null : (message ?? "fails") };
  });
  return { subtests, failure };
}

/** The run of a program that gave no report. */
export function lostRun(failure: string): Run {
  return { subtests: [], failure };
}

export type RunProgram = (program: Program) => Promise<Run>;
