import { PatternError } from "../errors.ts";
import type { PatternResult, RanStep, Run } from "../run.ts";
import type { Task, TasksConfig } from "../workflow.ts";
import { requireAgent } from "./chain.ts";

/**
 * Tasks in layers: those whose dependencies have ended run at the same time, and see `tasks`, by id, with `response`.
 * The last response is that of the last task that is listed in the last layer.
 */
export async function runTasks({ tasks }: TasksConfig, run: Run): Promise<PatternResult> {
  const ended = Object.create(null) as Record<string, object>;
  const steps: RanStep[] = [];
  let rest: readonly Task[] = tasks;
  while (rest.length > 0) {
    const layer = rest.filter(({ deps = [] }) => deps.every((id) => Object.hasOwn(ended, id)));
    if (layer.length === 0) throw new PatternError("/pattern/config/tasks: tasks wait for each other");
    // Tasks of a layer do not see each other.
    const values = { tasks: { ...ended } };
    const ran = await run.inParallel(layer, (task) => {
      const pointer = `/pattern/config/tasks/${tasks.indexOf(task)}`;
      return run.runStep(requireAgent(task, pointer), values, pointer);
    });
    for (const [index, { id }] of layer.entries()) {
      const step = ran[index];
      if (step !== undefined) ended[id] = { response: step.response, status: "success", agent: step.agent };
    }
    steps.push(...ran);
    rest = rest.filter((task) => !layer.includes(task));
  }
  return { last_response: steps.at(-1)?.response ?? "", steps, values: { tasks: ended } };
}
