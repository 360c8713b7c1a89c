import type { Engine } from "../../../src/glovebox/index.ts";
import { DEADLINE_MS } from "./bare-context.ts";
import type { Mode, Program } from "./cases.ts";
import { ENDLESS, type Entry, EVALUATOR } from "./evaluator.ts";

export const LEVELS = ["context", "instance"] as const;

/** An isolation level with a realm in which many tests can run. */
export type Level = (typeof LEVELS)[number];

/**
 * How a tool of each level gets as near as it can to a script. The global of a hardened realm cannot get variables, so
 * there a test is code of a function.
 */
export const ENTRIES: Readonly<Record<Level, Readonly<Record<Mode, Entry>>>> = {
  context: { sloppy: "eval", strict: "eval" },
  instance: { sloppy: "function", strict: "module" },
};

/** Registers, for each level, a tool that evaluates the program that it gets. */
export async function registerEvaluators(engine: Engine): Promise<void> {
  for (const isolation of LEVELS) {
    await engine.register({
      name: isolation,
      description: "Runs a test of test262.",
      isolation,
      source: `${EVALUATOR}\nexport default (input) => evaluate(input);`,
      limits: { cpuMs: DEADLINE_MS, wallMs: 2 * DEADLINE_MS, memoryMb: 256 },
    });
  }
}

const CUT_OFF: readonly string[] = ["cpu_limit", "memory_limit", "wall_limit"];

/** Runs a program at a level. Returns what is wrong, or an empty text. */
export async function runAt(engine: Engine, level: Level, mode: Mode, program: Program): Promise<string> {
  const result = await engine.execute({ name: level, arguments: { ...program, entry: ENTRIES[level][mode] } });
  if (result.success) return result.output as string;
  const { code, message } = result.error;
  return CUT_OFF.includes(code) ? ENDLESS : `${code}: ${message}`;
}
