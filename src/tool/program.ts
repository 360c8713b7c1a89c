import { type Bounds, type Limits, resolveLimits } from "../base/limits.ts";
import { NO_CHECKS, SCRIPT_EXPORTS } from "../base/protocol/script.ts";
import { FUNCTIONS, functionsCapability, type HostFunction } from "../broker/capabilities/functions.ts";
import { OPERATOR } from "../broker/policy.ts";
import { type RegisteredTool, registeredTool } from "./registered-tool.ts";

/** Name of the tool that runs programs. No registered tool can have it. */
export const PROGRAM = "(program)";

/** Code that is run once, such as a model's, with functions of its caller and without any other capability. */
export interface Program {
  /** The body of an async function, in JavaScript. */
  readonly code: string;
  /** Async functions in the program's global scope, by name. */
  readonly functions: ReadonlyMap<string, HostFunction>;
  /** Limits of this run, up to the engine's `maxLimits`. */
  readonly limits: Partial<Limits>;
}

/**
 * Compiles and runs the program, which is an argument, in the realm that it has for itself: so it is parsed there, at the
 * expense of its call, and all programs have one script. The output is `{ value }`, without `value` for `undefined`.
 */
const RUNNER = `const ${SCRIPT_EXPORTS} = {
  default: async ({ code, names }, { host: { ${FUNCTIONS} } }) => {
    const AsyncFunction = (async () => {}).constructor;
    delete globalThis.fetch;
    for (const name of names) {
      if (name in globalThis) throw new TypeError('"' + name + '" is a global of every program: give the function another name');
      const ask = ${FUNCTIONS}[name];
      globalThis[name] = async (input) => {
        const { value, error } = await ask(input ?? {});
        if (error === undefined) return value;
        throw Object.assign(new Error(error.message), { name: error.name });
      };
    }
    return { value: await new AsyncFunction(code)() };
  },
};`;

/** Makes the tools that run programs. They are not in the registry: only `runProgram` of the engine calls them. */
export class Programs {
  readonly #bounds: Bounds;
  /** By heap limit, which belongs to a tool's isolates. */
  readonly #runners = new Map<number, RegisteredTool>();

  /** `bounds` are read whenever a program is run, so they may be changed in place. */
  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** The tool for one run of a program. Throws a `RangeError` where a limit is invalid. */
  toolFor({ functions, limits: asked }: Program): RegisteredTool {
    const resolved = resolveLimits(this.#bounds.limits, asked, this.#bounds.maxLimits);
    const limits = Object.freeze({ ...resolved, cpuMs: Math.min(resolved.cpuMs, resolved.wallMs) });
    let runner = this.#runners.get(limits.memoryMb);
    if (runner === undefined) this.#runners.set(limits.memoryMb, (runner = runnerWith(limits)));
    return { ...runner, limits, own: functionsCapability(functions) };
  }
}

/** Arguments of a program's tool. */
export function argumentsOf({ code, functions }: Program): Record<string, unknown> {
  return { code, names: [...functions.keys()] };
}

function runnerWith(limits: Limits): RegisteredTool {
  const bundle = { runtime: "javascript", text: RUNNER, bytes: RUNNER.length, sourceMap: "", sources: [] } as const;
  const inspection = {
    ok: true,
    contract: "glovebox",
    described: "null",
    spec: "null",
    defaultExport: "function",
    isolation: "isolate",
    evaluationMs: 0,
    key: `${PROGRAM}:${limits.memoryMb}`,
  } as const;
  const definition = { name: PROGRAM, description: "Runs a program.", isolation: "isolate" } as const;
  return registeredTool(definition, NO_CHECKS, bundle, inspection, { limits, maxLimits: limits, registrant: OPERATOR });
}
