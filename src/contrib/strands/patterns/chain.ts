import { UnsupportedError } from "../errors.ts";
import type { Scope } from "../expression.ts";
import type { PatternResult, RanStep, Run } from "../run.ts";
import { type AgentStep, type ChainConfig, isHuman, type Step } from "../workflow.ts";

/** Steps one after the other; each sees `steps` and `last_response`. */
export async function runChain({ steps }: ChainConfig, run: Run): Promise<PatternResult> {
  const ran = await runSteps(steps, run, {}, "/pattern/config/steps");
  return { last_response: ran.at(-1)?.response ?? "", steps: ran, values: { steps: ran } };
}

/** Runs steps in order. Their templates see the values, and the steps before them. */
export async function runSteps(
  steps: readonly Step[],
  run: Run,
  values: Scope,
  pointer: string,
): Promise<readonly RanStep[]> {
  const ran: RanStep[] = [];
  for (const [index, step] of steps.entries()) {
    const place = `${pointer}/${index}`;
    const last = ran.at(-1);
    const seen = { ...values, steps: ran, ...(last === undefined ? {} : { last_response: last.response }) };
    ran.push(await run.runStep(requireAgent(step, place), seen, place));
  }
  return ran;
}

/** Throws an `UnsupportedError` for a step that waits for a person: there is no person to ask. */
export function requireAgent<Of extends Step>(
  step: Of,
  pointer: string,
): Exclude<Of, { readonly type: "hitl" }> & AgentStep {
  if (isHuman(step)) throw new UnsupportedError(`${pointer}: a step that waits for a person is not supported`);
  return step as Exclude<Of, { readonly type: "hitl" }> & AgentStep;
}
