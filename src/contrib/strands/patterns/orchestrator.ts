import { memberOf } from "../../../kernel/base/json.ts";
import { PatternError } from "../errors.ts";
import type { PatternResult, RanStep, Run } from "../run.ts";
import type { OrchestratorConfig } from "../workflow.ts";
import { askUntil } from "./ask-until.ts";
import { requireAgent } from "./chain.ts";

/** Maximum number of tasks of an orchestrator. */
const TASKS_MAX = 100;
const FORM =
  'Answer with a JSON list of tasks, of this form: [{"task": "…"}]. An empty list means that there is nothing to do.';

/**
 * An agent divides the work into tasks, and workers do them at the same time, not more than `max_workers` at once. There
 * is one round. The steps after it see `workers`, a list with `task` and `response`, `num_workers` and `round_count`;
 * the writing step also `reduce_response`.
 */
export async function runOrchestrator(config: OrchestratorConfig, run: Run): Promise<PatternResult> {
  const root = "/pattern/config";
  const { worker_template, orchestrator, reduce, writeup } = config;
  const [tasks, asked] = await divide(config, run);
  const worked = await run.inParallel(
    tasks,
    (task) => run.ask(worker_template.agent, task, `${root}/worker_template`, worker_template.tools),
    orchestrator.limits?.max_workers,
  );
  const workers = worked.map(({ agent, response }, index) => ({
    task: tasks[index],
    agent,
    response,
    status: "success",
    index,
  }));
  const values: Record<string, unknown> = {
    workers,
    num_workers: workers.length,
    round_count: 1,
    orchestrator_response: asked.at(-1)?.response ?? "",
  };
  const steps = [...asked, ...worked];
  let last_response = workers.map(({ response }, index) => `Worker ${index}: ${response}`).join("\n\n");
  for (const [name, step] of [["reduce", reduce] as const, ["writeup", writeup] as const]) {
    if (step === undefined) continue;
    const pointer = `${root}/${name}`;
    const ran = await run.runStep(requireAgent(step, pointer), { ...values, last_response }, pointer);
    steps.push(ran);
    last_response = ran.response;
    values[`${name}_response`] = ran.response;
  }
  return { last_response, steps, values };
}

async function divide(
  { orchestrator }: OrchestratorConfig,
  run: Run,
): Promise<readonly [tasks: readonly string[], asked: readonly RanStep[]]> {
  const pointer = "/pattern/config/orchestrator";
  const input = `Divide the work into tasks. ${FORM}\n\nThe variables: ${JSON.stringify(run.variables)}`;
  const [tasks, asked] = await askUntil(run, {
    agent: orchestrator.agent,
    pointer,
    input: (isRepeated) =>
      isRepeated ? `${input}\n\nThe last answer was no such list. Answer with nothing else.` : input,
    read: readTasks,
    problem: "the orchestrator gave no list of tasks",
  });
  if (tasks.length > TASKS_MAX) throw new PatternError(`${pointer}: the orchestrator has more than ${TASKS_MAX} tasks`);
  return [tasks, asked];
}

/** One object is a list of one. A task without a text is described by its JSON. */
function readTasks(value: unknown): readonly string[] | null {
  if (typeof value !== "object" || value === null) return null;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map((item) => {
    const task = typeof item === "string" ? item : memberOf(item, "task");
    return typeof task === "string" ? task : JSON.stringify(item);
  });
}
