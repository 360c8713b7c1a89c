import { pointerSegment } from "../../kernel/base/json.ts";
import { type HumanStep, isHuman, type Pattern, type Step } from "./workflow.ts";

type Text = readonly [pointer: string, text: string];

/** Agents, templates and other parts of a pattern, each with its place as a JSON pointer. */
export interface PatternParts {
  readonly agents: readonly Text[];
  readonly templates: readonly Text[];
  /** Tools that a step sees instead of its agent's. */
  readonly tools: readonly Text[];
  /** Steps that wait for a person. */
  readonly humans: readonly string[];
}

/** Fields of steps, routers, evaluators, orchestrators and workers. */
interface Fields {
  readonly agent?: string;
  readonly input?: string | undefined;
  readonly tool_overrides?: readonly string[] | undefined;
}

const ROOT = "/pattern/config";

/** The parts of a pattern's steps, for every type. */
export function partsOf(pattern: Pattern): PatternParts {
  const all = listParts(pattern);
  return {
    agents: all.flatMap(({ agents }) => agents),
    templates: all.flatMap(({ templates }) => templates),
    tools: all.flatMap(({ tools }) => tools),
    humans: all.flatMap(({ humans }) => humans),
  };
}

function listParts({ type, config }: Pattern): readonly PatternParts[] {
  switch (type) {
    case "chain":
      return steps(`${ROOT}/steps`, config.steps);
    case "routing": {
      const { router, routes } = config;
      const then = Object.entries(routes).flatMap(([name, route]) =>
        steps(`${ROOT}/routes${pointerSegment(name)}/then`, route.then ?? []),
      );
      return [fields(`${ROOT}/router`, router), ...step(`${ROOT}/router/review_router`, router.review_router), ...then];
    }
    case "parallel":
      return [
        ...config.branches.flatMap((branch, index) => steps(`${ROOT}/branches/${index}/steps`, branch.steps)),
        ...step(`${ROOT}/reduce`, config.reduce),
      ];
    case "workflow":
      return steps(`${ROOT}/tasks`, config.tasks);
    case "evaluator_optimizer": {
      const { producer, evaluator, revise_prompt, review_gate } = config;
      const own: PatternParts = {
        ...NOTHING,
        agents: [[`${ROOT}/producer`, producer]],
        templates: revise_prompt === undefined ? [] : [[`${ROOT}/revise_prompt`, revise_prompt]],
      };
      return [own, fields(`${ROOT}/evaluator`, evaluator), ...step(`${ROOT}/review_gate`, review_gate)];
    }
    case "orchestrator_workers": {
      const { agent, tools } = config.worker_template;
      return [
        fields(`${ROOT}/orchestrator`, { agent: config.orchestrator.agent }),
        ...step(`${ROOT}/decomposition_review`, config.decomposition_review),
        fields(`${ROOT}/worker_template`, { agent, tool_overrides: tools }, "tools"),
        ...step(`${ROOT}/reduce_review`, config.reduce_review),
        ...step(`${ROOT}/reduce`, config.reduce),
        ...step(`${ROOT}/writeup`, config.writeup),
      ];
    }
    case "graph":
      return Object.entries(config.nodes).flatMap(([id, node]) => step(`${ROOT}/nodes${pointerSegment(id)}`, node));
  }
}

const NOTHING: PatternParts = { agents: [], templates: [], tools: [], humans: [] };

function steps(pointer: string, list: readonly Step[]): readonly PatternParts[] {
  return list.flatMap((each, index) => step(`${pointer}/${index}`, each));
}

function step(pointer: string, given: Step | HumanStep | undefined): readonly PatternParts[] {
  if (given === undefined) return [];
  return [isHuman(given) ? { ...NOTHING, humans: [pointer] } : fields(pointer, given)];
}

function fields(
  pointer: string,
  { agent, input, tool_overrides = [] }: Fields,
  toolsField = "tool_overrides",
): PatternParts {
  return {
    agents: agent === undefined ? [] : [[`${pointer}/agent`, agent]],
    templates: input === undefined ? [] : [[`${pointer}/input`, input]],
    tools: tool_overrides.map((id, index) => [`${pointer}/${toolsField}/${index}`, id]),
    humans: [],
  };
}
