import { pointerSegment } from "../../kernel/base/json.ts";
import { describeCondition } from "./expression.ts";
import type { SpecProblem } from "./errors.ts";
import type { GraphConfig, Pattern, Task } from "./workflow.ts";

const ROOT = "/pattern/config";

/** Problems of a pattern that its schema cannot express: undefined names, repeated names, cycles of tasks. */
export function structureProblems({ type, config }: Pattern): readonly SpecProblem[] {
  switch (type) {
    case "chain":
    case "evaluator_optimizer":
    case "orchestrator_workers":
      return [];
    case "routing":
      return Object.keys(config.routes).length === 0 ? [problem(`${ROOT}/routes`, "names no route")] : [];
    case "parallel":
      return repeated(`${ROOT}/branches`, config.branches);
    case "workflow":
      return taskProblems(config.tasks);
    case "graph":
      return graphProblems(config);
  }
}

function taskProblems(tasks: readonly Task[]): readonly SpecProblem[] {
  const known = new Set(tasks.map(({ id }) => id));
  const unknown = tasks.flatMap(({ deps = [] }, index) =>
    deps.flatMap((dep, at) =>
      known.has(dep) ? [] : [problem(`${ROOT}/tasks/${index}/deps/${at}`, `names the task "${dep}" that there is not`)],
    ),
  );
  const cycle = findCycle(tasks);
  const cycles = cycle === null ? [] : [problem(`${ROOT}/tasks`, `waits for itself: ${cycle.join(" → ")}`)];
  return [...repeated(`${ROOT}/tasks`, tasks), ...unknown, ...cycles];
}

/** A path of tasks that leads back to its first; `null` without a cycle. */
function findCycle(tasks: readonly Task[]): readonly string[] | null {
  const deps = new Map(tasks.map((task) => [task.id, task.deps ?? []]));
  const done = new Set<string>();
  const visit = (id: string, path: readonly string[]): readonly string[] | null => {
    if (path.includes(id)) return [...path.slice(path.indexOf(id)), id];
    if (done.has(id)) return null;
    for (const dep of deps.get(id) ?? []) {
      const found = visit(dep, [...path, id]);
      if (found !== null) return found;
    }
    done.add(id);
    return null;
  };
  for (const { id } of tasks) {
    const found = visit(id, []);
    if (found !== null) return found;
  }
  return null;
}

function graphProblems({ nodes, edges }: GraphConfig): readonly SpecProblem[] {
  return edges.flatMap(({ from, to = [], choose = [] }, index) => {
    const pointer = `${ROOT}/edges/${index}`;
    const names: readonly (readonly [string, string])[] = [
      [`${pointer}/from`, from],
      ...to.map((id, at) => [`${pointer}/to/${at}`, id] as const),
      ...choose.map((choice, at) => [`${pointer}/choose/${at}/to`, choice.to] as const),
    ];
    const unknown = names.filter(([, id]) => !Object.hasOwn(nodes, id));
    const unreadable = choose.flatMap(({ when }, at) => {
      const reason = describeCondition(when);
      return reason === null ? [] : [problem(`${pointer}/choose/${at}/when`, `is no condition: ${reason}`)];
    });
    return [...unknown.map(([at, id]) => problem(at, `names the node "${id}" that there is not`)), ...unreadable];
  });
}

function repeated(pointer: string, parts: readonly { readonly id: string }[]): readonly SpecProblem[] {
  const seen = new Set<string>();
  return parts.flatMap(({ id }, index) => {
    const isNew = !seen.has(id);
    seen.add(id);
    return isNew ? [] : [problem(`${pointer}${pointerSegment(index)}/id`, `is given twice: "${id}"`)];
  });
}

function problem(pointer: string, message: string): SpecProblem {
  return { pointer, message: `${pointer} ${message}` };
}
