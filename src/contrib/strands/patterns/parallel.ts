import type { PatternResult, Run } from "../run.ts";
import type { ParallelConfig } from "../workflow.ts";
import { requireAgent, runSteps } from "./chain.ts";

/** Chains at the same time. The reducing step and artifacts see `branches`, by id, with `response`. */
export async function runParallel({ branches, reduce }: ParallelConfig, run: Run): Promise<PatternResult> {
  const root = "/pattern/config";
  const ran = await run.inParallel(branches, ({ steps }, index) =>
    runSteps(steps, run, {}, `${root}/branches/${index}/steps`),
  );
  const ended = branches.map(({ id }, index) => ({ id, steps: ran[index] ?? [] }));
  const responses = ended.map(({ id, steps }) => {
    const response = steps.at(-1)?.response ?? "";
    return [id, { response, status: "success", steps }] as const;
  });
  const values = { branches: Object.fromEntries(responses) };
  const steps = ran.flat();
  if (reduce === undefined) {
    const texts = responses.map(([id, { response }]) => `Branch ${id}:\n${response}`);
    return { last_response: texts.join("\n\n---\n\n"), steps, values };
  }
  const reduced = await run.runStep(requireAgent(reduce, `${root}/reduce`), values, `${root}/reduce`);
  return { last_response: reduced.response, steps: [...steps, reduced], values };
}
