import { pointerSegment } from "../../../kernel/base/json.ts";
import { PatternError } from "../errors.ts";
import { ExpressionError } from "../expression-tokens.ts";
import { holds, type Scope } from "../expression.ts";
import type { PatternResult, RanStep, Run } from "../run.ts";
import type { GraphConfig } from "../workflow.ts";
import { requireAgent } from "./chain.ts";

/** Maximum number of times that each node runs. */
const ITERATIONS = 10;

interface Ended {
  readonly response: string;
  readonly agent: string;
  readonly status: "success";
  /** Number of the node's runs. */
  readonly iteration: number;
}

/**
 * Nodes one after the other, from the first on; the edges of each select the next. Templates and conditions see
 * `nodes`, by id, with `response` and `iteration`; artifacts also `terminal_node`, `total_steps` and `execution_path`.
 */
export async function runGraph(config: GraphConfig, run: Run): Promise<PatternResult> {
  const { nodes, max_iterations = ITERATIONS } = config;
  const ended = Object.create(null) as Record<string, Ended>;
  const steps: RanStep[] = [];
  const path: string[] = [];
  let next: string | null = Object.keys(nodes)[0] ?? null;
  while (next !== null) {
    const id: string = next;
    const pointer = `/pattern/config/nodes${pointerSegment(id)}`;
    const node = Object.hasOwn(nodes, id) ? nodes[id] : undefined;
    if (node === undefined) throw new PatternError(`${pointer}: there is no such node`);
    const iteration = (ended[id]?.iteration ?? 0) + 1;
    if (iteration > max_iterations) {
      throw new PatternError(`${pointer}: the node would run more than max_iterations, ${max_iterations} times`);
    }
    const step = await runNode(requireAgent(node, pointer), id, { nodes: ended }, run, pointer);
    ended[id] = { response: step.response, agent: step.agent, status: "success", iteration };
    steps.push(step);
    path.push(id);
    next = nextOf(config, id, { ...run.variables, nodes: ended });
  }
  const counts = Object.fromEntries(Object.entries(ended).map(([id, { iteration }]) => [id, iteration]));
  const shown = { nodes: ended, terminal_node: path.at(-1) ?? "", total_steps: path.length, execution_path: path };
  return { last_response: steps.at(-1)?.response ?? "", steps, values: { ...shown, iteration_counts: counts } };
}

/** A node without input gets a description of the earlier nodes. */
async function runNode(
  node: { readonly agent: string; readonly input?: string },
  id: string,
  values: { readonly nodes: { readonly [id: string]: Ended } },
  run: Run,
  pointer: string,
): Promise<RanStep> {
  if (node.input !== undefined) return run.runStep(node, values, pointer);
  const before = Object.entries(values.nodes).map(([name, { response }]) => `${name}: ${response}`);
  return run.ask(node.agent, [`Do the work of the step ${id}.`, ...before].join("\n\n"), pointer);
}

/** The first edge of a node counts, and of its targets the first. `null` at an end. */
function nextOf({ edges }: GraphConfig, id: string, values: Scope): string | null {
  const index = edges.findIndex(({ from }) => from === id);
  const { to = [], choose = [] } = edges[index] ?? {};
  if (to[0] !== undefined) return to[0];
  for (const [at, { when, to: target }] of choose.entries()) {
    try {
      if (holds(when, values)) return target;
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      throw new PatternError(`/pattern/config/edges/${index}/choose/${at}/when: ${error.message}`);
    }
  }
  return null;
}
