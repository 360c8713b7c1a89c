import { createEngine, type Engine } from "../src/glovebox/index.ts";
import type { ExecutorKind } from "../src/kernel/executor/executor.ts";
import type { EngineOptions } from "../src/kernel/engine/options.ts";

/** Both executors, for scenarios that compare them. */
export const EXECUTORS: readonly ExecutorKind[] = ["process", "threads"];

/** An engine with one worker thread, as the baselines have. */
export function openEngine(kind: ExecutorKind, options: EngineOptions = {}): Promise<Engine> {
  return openEngineAsItComes(kind, { workers: 1, ...options });
}

/**
 * An engine with as many workers as it has by itself, but without a second process that stands ready: it would start
 * in the background while the first rounds are measured.
 */
export function openEngineAsItComes(kind: ExecutorKind, options: EngineOptions = {}): Promise<Engine> {
  return createEngine({ executor: { kind, spare: false }, ...options });
}

/** Calls a tool; answers its output, throws where it failed. */
export async function call(engine: Engine, name: string, args: Record<string, unknown>): Promise<unknown> {
  const { success, output, error } = await engine.execute({ name, arguments: args });
  if (!success) throw new Error(`"${name}" failed: ${error?.code}: ${error?.message}`);
  return output;
}

/** The `sum` in what an `add` or a `burn` tool answered; checked by whoever compares it with the expected one. */
export function sumOf(output: unknown): number {
  return (output as { readonly sum: number }).sum;
}
