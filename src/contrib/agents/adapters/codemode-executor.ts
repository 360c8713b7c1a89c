import { memberOf } from "../../../kernel/base/json.ts";
import type { LogLine } from "../../../kernel/base/result.ts";
import type { Engine } from "../../../kernel/engine/engine.ts";
import { callOf, readySource } from "../../../kernel/tool/program/program.ts";
import type { IsolateDriverOptions } from "./isolate-driver.ts";

/** An executor in the form for `@cloudflare/codemode`. */
export interface CodemodeExecutor {
  /** Runs an async arrow function in a separate isolate. Never rejects. */
  execute(
    code: string,
    providers: CodemodeProvider[] | CodemodeFunctions,
    options?: { connectors?: CodemodeConnector[] },
  ): Promise<CodemodeResult>;
}

/** Functions of the host, by name. Arguments from a program are untrusted. */
export type CodemodeFunctions = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Functions that a program finds under one name. */
export interface CodemodeProvider {
  name: string;
  fns: CodemodeFunctions;
  /** Code of the program's realm, after the name is defined. */
  prelude?: string;
}

export interface CodemodeConnector {
  name: string;
  binding: { callTool(method: string, args: unknown): Promise<unknown> };
}

export interface CodemodeResult {
  result: unknown;
  error?: string;
  /** Console lines. Those of `console.warn` and `error` begin with `[warn] ` and `[error] `. */
  logs?: string[];
}

/** Calls a function of the host by its name for programs. */
type Dispatch = (method: string, args: readonly unknown[]) => Promise<unknown>;

const DEFAULT_NAME = "codemode";
const PROVIDERS_MAX = 100;
const IDENTIFIER = /^[A-Za-z_$][\w$]{0,79}$/;
const HOST = "__host";
/** Names that a program needs unchanged. */
const RESERVED: ReadonlySet<string> = new Set(
  `${HOST} Promise Error Proxy console globalThis arguments await eval undefined NaN Infinity`.split(" "),
);
const LEVELS: ReadonlySet<string> = new Set(["warn", "error"]);

/**
 * An engine as the executor of Cloudflare's codemode: `createCodeTool({ tools, executor: createCodemodeExecutor(engine)
 * })`. Each run is a call of the engine in a separate isolate, with the functions as its only capability. Values are
 * JSON.
 */
export function createCodemodeExecutor(engine: Engine, options: IsolateDriverOptions = {}): CodemodeExecutor {
  const { limits = {}, ...call } = options;
  return {
    execute: async (code, given, { connectors = [] } = {}) => {
      const providers = Array.isArray(given) ? given : [{ name: DEFAULT_NAME, fns: given }];
      const names = [...providers, ...connectors].map(({ name }) => name);
      const wrong = describeWrong(code, names);
      if (wrong !== null) return { result: undefined, error: wrong, logs: [] };
      const dispatchers = new Map<string, Dispatch>([
        ...providers.map(({ name, fns }) => [name, dispatchTo(fns)] as const),
        ...connectors.map(({ name, binding }) => [name, connectTo(binding)] as const),
      ]);
      const preludes = providers.flatMap(({ prelude = "" }) => (prelude === "" ? [] : [prelude]));
      const program = {
        kind: "functions",
        code: programOf(code, names, preludes),
        functions: new Map([[HOST, (request: unknown) => answer(dispatchers, request)]]),
        limits,
      } as const;
      const { success, output, error, metadata } = await engine.runProgram(callOf(program), readySource(program), call);
      const logs = metadata.logs.map(lineOf);
      return success ? { result: memberOf(output, "value"), logs } : { result: undefined, error: error.message, logs };
    },
  };
}

function describeWrong(code: unknown, names: readonly string[]): string | null {
  if (typeof code !== "string") return "the code of a program must be a string";
  if (names.length > PROVIDERS_MAX) return `a program may have ${PROVIDERS_MAX} providers`;
  const wrong = names.find((name, at) => !IDENTIFIER.test(name) || RESERVED.has(name) || names.indexOf(name) < at);
  if (wrong === undefined) return null;
  return `"${wrong.slice(0, 100)}" cannot be the name of a provider: use letters, digits and _, no reserved word, and each name once`;
}

/** The whole text of a run: the names, the preludes, and the program as an expression, on separate lines. */
function programOf(code: string, names: readonly string[], preludes: readonly string[]): string {
  const spaces = names.map((name) => `const ${name} = __space(${JSON.stringify(name)});`);
  return `const __ask = globalThis.${HOST};
delete globalThis.${HOST};
const __space = (provider) => new Proxy({}, {
  get: (own, method) => {
    if (Object.hasOwn(own, method)) return own[method];
    if (typeof method !== "string" || method === "then") return undefined;
    return async (...args) => __ask({ provider, method, args });
  },
});
${spaces.join("\n")}
${preludes.join("\n")}
const __program = (
${code}
);
return typeof __program === "function" ? await __program() : __program;`;
}

async function answer(dispatchers: ReadonlyMap<string, Dispatch>, request: unknown): Promise<unknown> {
  const [provider, method, args] = ["provider", "method", "args"].map((name) => memberOf(request, name));
  const dispatch = typeof provider === "string" ? dispatchers.get(provider) : undefined;
  if (dispatch === undefined || typeof method !== "string") throw new Error("There is no such function");
  return dispatch(method, Array.isArray(args) ? args : []);
}

/** Programs write names as identifiers: `get-weather` is `get_weather`. */
function dispatchTo(fns: CodemodeFunctions): Dispatch {
  const byName = new Map(Object.entries(fns).flatMap(([name, call]) => [[identifierOf(name), call] as const]));
  for (const [name, call] of Object.entries(fns)) byName.set(name, call);
  return async (method, args) => {
    const call = byName.get(method);
    if (call === undefined) throw new Error(`Tool "${method.slice(0, 100)}" not found`);
    return call(...args);
  };
}

function connectTo(binding: CodemodeConnector["binding"]): Dispatch {
  return (method, args) => binding.callTool(method, args[0]);
}

function identifierOf(name: string): string {
  const plain = name.replaceAll(/[-.\s]/g, "_").replaceAll(/[^\w$]/g, "");
  return /^\d/.test(plain) ? `_${plain}` : plain;
}

function lineOf({ level, message }: LogLine): string {
  return LEVELS.has(level) ? `[${level}] ${message}` : message;
}
