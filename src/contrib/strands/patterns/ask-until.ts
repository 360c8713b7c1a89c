import { jsonIn } from "../answer-json.ts";
import { PatternError } from "../errors.ts";
import type { RanStep, Run } from "../run.ts";

const RETRIES = 2;

/** A question whose answer has to be JSON of a given form. */
interface Question<Value> {
  readonly agent: string;
  readonly pointer: string;
  /** The agent's input; `isRepeated` after an answer that could not be read. */
  readonly input: (isRepeated: boolean) => string;
  /** Returns `null` for an answer of another form. */
  readonly read: (answer: unknown) => Value | null;
  /** Number of repetitions. Default 2. */
  readonly retries?: number;
  /** Start of the error's message: `the router gave no route`. */
  readonly problem: string;
}

/** Asks an agent until its answer can be read. Returns the value and all answers; rejects with a `PatternError`. */
export async function askUntil<Value>(
  run: Run,
  { agent, pointer, input, read, retries = RETRIES, problem }: Question<Value>,
): Promise<readonly [value: Value, asked: readonly RanStep[]]> {
  const asked: RanStep[] = [];
  while (asked.length <= retries) {
    const answer = await run.ask(agent, input(asked.length > 0), pointer);
    asked.push(answer);
    const value = read(jsonIn(answer.response));
    if (value !== null) return [value, asked];
  }
  throw new PatternError(`${pointer}: ${problem} in ${asked.length} answers`);
}
