import type { Engine } from "../../src/kernel/engine/engine.ts";
import type { ToolDefinition } from "../../src/kernel/tool/definition.ts";
import { call, sumOf } from "../engines.ts";
import type { Subject } from "../sampling.ts";

/** A way through the engine beside what it stands on. */
export interface Path {
  readonly name: string;
  /** Number of operations in one `run` of a subject, which are what is counted. */
  readonly operations: number;
  /** Runs in flight; `null` for one after the other. */
  readonly concurrency: number | null;
  /** The first ones are the engine's; the last one is the baseline. */
  readonly subjects: readonly PathSubject[];
  readonly expected: (index: number) => number;
}

export interface PathSubject extends Omit<Subject, "against"> {
  /** Operations per second of a sample, where a load generator has to measure them. */
  readonly perSecond?: (sampleMs: number) => Promise<number>;
}

/** Paths that share an engine. */
export type PathFamily = (opened: AsyncDisposableStack) => Promise<readonly Path[]>;

/** Number of operations that a tool makes in a call, one after the other: so what is measured is them, not their call. */
export const IN_A_ROW = 16;
/** Number of operations that it begins at once. */
export const AT_ONCE = 64;

/** Registers a tool that answers a `sum`, and runs it. */
export async function toolSubject(
  engine: Engine,
  subject: string,
  name: string,
  functionText: string,
  capabilities: NonNullable<ToolDefinition["capabilities"]> = {},
): Promise<PathSubject> {
  const source = `export default ${functionText};`;
  await engine.register({ name, description: `measures ${name}`, source, capabilities });
  return { name: subject, run: async (index) => sumOf(await call(engine, name, { index })) };
}
