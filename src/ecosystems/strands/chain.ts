import { type AgentAnswer, askAgent } from "./agent.ts";
import { requireWritable, writeArtifact } from "./artifacts.ts";
import { PATTERNS } from "./capability.ts";
import { SpecError, UnsupportedError } from "./errors.ts";
import type { ModelProvider } from "./model.ts";
import { createProvider } from "./providers.ts";
import { getRegistry, type ToolRegistry } from "./registry.ts";
import { Templates } from "./template.ts";
import { loadTools } from "./tool-adapter.ts";
import type { Workflow } from "./workflow.ts";

export interface ChainOptions {
  /** Registry of the agents' tools. Default: the process's. */
  readonly registry?: ToolRegistry;
  /** Provider of the model. Default: the one that the workflow's `runtime` names. */
  readonly provider?: ModelProvider;
  /** Whether artifacts may replace existing files. Default: no. */
  readonly force?: boolean;
  /** Folder for artifacts. Default: the working directory. */
  readonly folder?: string;
  /** Maximum number of an agent's model requests per step. Default: 20. */
  readonly maxTurns?: number;
  readonly signal?: AbortSignal;
}

/** A completed step. */
export interface ChainStep extends Omit<AgentAnswer, "text"> {
  readonly agent: string;
  readonly response: string;
}

export interface ChainResult {
  /** Response of the last step's agent. */
  readonly last_response: string;
  readonly steps: readonly ChainStep[];
  /** Paths of the written artifacts, as the workflow names them. */
  readonly artifacts: readonly string[];
}

const MAX_TURNS = 20;

/**
 * Runs a workflow's steps in order, then writes its artifacts. Templates see the variables, `last_response`, and
 * `steps`, whose items have `agent` and `response`. Rejects with a subclass of `WorkflowError`; no artifact has been
 * written then, except in the case of an `ArtifactError`.
 */
export async function run_chain(
  spec: Workflow,
  variables: { readonly [name: string]: unknown } = {},
  options: ChainOptions = {},
): Promise<ChainResult> {
  const { signal, maxTurns = MAX_TURNS } = options;
  if (!PATTERNS.includes(spec.pattern.type)) {
    throw new UnsupportedError(`/pattern/type: pattern '${spec.pattern.type}' is not supported`);
  }
  const templates = await Templates.load();
  const tools = loadTools(spec, options.registry ?? (await getRegistry()));
  const provider = options.provider ?? createProvider(spec.runtime);
  const place = { folder: options.folder ?? process.cwd(), force: options.force === true };
  // Fail before paying for model requests if an artifact cannot be written.
  for (const { path } of spec.outputs.artifacts) await requireWritable(path, place);
  const steps: ChainStep[] = [];
  const values = (): { readonly [name: string]: unknown } => {
    const last = steps.at(-1);
    return { ...variables, steps, ...(last === undefined ? {} : { last_response: last.response }) };
  };
  for (const [index, { agent, input }] of spec.pattern.config.steps.entries()) {
    const pointer = `/pattern/config/steps/${index}`;
    const prompt = Object.hasOwn(spec.agents, agent) ? spec.agents[agent]?.prompt : undefined;
    if (prompt === undefined) {
      throw new SpecError(spec.name, [{ pointer: `${pointer}/agent`, message: `there is no agent "${agent}"` }]);
    }
    const asked = templates.render(input, values(), `${pointer}/input`);
    const answer = await askAgent(prompt, asked, { provider, model: spec.runtime.model_id, tools, maxTurns, signal });
    steps.push({ agent, response: answer.text, turns: answer.turns, calls: answer.calls });
  }
  const rendered = spec.outputs.artifacts.map(({ path, from }, index) => ({
    path,
    content: templates.render(from, values(), `/outputs/artifacts/${index}/from`),
  }));
  signal?.throwIfAborted();
  for (const { path, content } of rendered) await writeArtifact(path, content, place);
  return { last_response: steps.at(-1)?.response ?? "", steps, artifacts: rendered.map(({ path }) => path) };
}
