/** The ways to a tool's answer that several scenarios compare. */
import type { Piscina } from "piscina";
import type { Engine } from "../src/kernel/engine/engine.ts";
import { call, sumOf } from "./engines.ts";
import { addArguments } from "./tools.ts";

type Run = (index: number) => Promise<number>;
type Arguments = Record<string, unknown>;

/** A tool of an engine. */
export function runInEngine(engine: Engine, tool: string, argumentsOf: (index: number) => Arguments): Run {
  return async (index) => sumOf(await call(engine, tool, argumentsOf(index)));
}

/** The hand-made sandboxes take and answer JSON text. A name is that of a tool other than `add`. */
export function runInHandMade(pool: Piscina, argumentsOf: (index: number) => Arguments, name?: "burn"): Run {
  const options = name === undefined ? {} : { name };
  return async (index) => sumOf(JSON.parse((await pool.run(JSON.stringify(argumentsOf(index)), options)) as string));
}

/** Who does nothing answers the arguments themselves, so that what was sent can be told from the answer. */
export function runNoop(pool: { run(task: unknown): Promise<unknown> }): Run {
  return async (index) => {
    const { a, b } = (await pool.run(addArguments(index))) as ReturnType<typeof addArguments>;
    return a + b;
  };
}
