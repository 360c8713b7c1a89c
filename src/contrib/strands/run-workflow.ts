import { requireWritable, writeArtifact } from "./artifacts.ts";
import { Budget } from "./budget.ts";
import { UnsupportedError } from "./errors.ts";
import { readVariables } from "./inputs.ts";
import type { ModelProvider } from "./model.ts";
import { Notes, notesPolicy } from "./notes.ts";
import { runPattern } from "./patterns/run-pattern.ts";
import { getRegistry, type ToolRegistry } from "./registry.ts";
import { type PatternResult, type RanStep, Run } from "./run.ts";
import { Templates } from "./template.ts";
import { callablesOf, loadTools } from "./tool-adapter.ts";
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
export type ChainStep = RanStep;

export interface ChainResult {
  /** Response of the last step's agent. */
  readonly last_response: string;
  readonly steps: readonly ChainStep[];
  /** Paths of the written artifacts, as the workflow names them. */
  readonly artifacts: readonly string[];
}

export type WorkflowOptions = ChainOptions;

export interface WorkflowResult extends ChainResult {
  /**
   * Values for the pattern's artifacts in addition to the variables, such as `branches`, `tasks`, `workers` and
   * `nodes`.
   */
  readonly values: { readonly [name: string]: unknown };
}

const MAX_TURNS = 20;

/**
 * Runs a workflow of any pattern, then writes its artifacts. Rejects with a subclass of `WorkflowError`; no artifact
 * has been written then, except in the case of an `ArtifactError`.
 */
export async function run_workflow(
  spec: Workflow,
  variables: { readonly [name: string]: unknown } = {},
  options: WorkflowOptions = {},
): Promise<WorkflowResult> {
  const { signal, maxTurns = MAX_TURNS } = options;
  const templates = await Templates.load();
  const registry = options.registry ?? (await getRegistry());
  loadTools(spec, registry, callablesOf(spec));
  const budget = new Budget(spec.runtime.budgets);
  const given = readVariables(spec.inputs, variables);
  const { provider } = options;
  const place = { folder: options.folder ?? process.cwd(), force: options.force === true };
  const policy = notesPolicy(spec.others.context_policy);
  const notes = policy === null ? null : await Notes.open(policy, place.folder);
  const run = new Run({ spec, variables: given, templates, registry, provider, budget, maxTurns, signal, notes });
  // Fail before paying for model requests if an artifact cannot be written.
  for (const { path } of spec.outputs.artifacts) if (!isTemplate(path)) await requireWritable(path, place);
  const { last_response, steps, values } = await ran(run, spec, notes).catch((error: unknown) => {
    throw signal?.aborted === true ? error : (budget.overtime ?? error);
  });
  const seen = { name: spec.name, timestamp: new Date().toISOString(), TRACE: "", ...given, ...values, last_response };
  const rendered = spec.outputs.artifacts.map(({ path, from }, index) => ({
    path: isTemplate(path) ? templates.render(path, seen, `/outputs/artifacts/${index}/path`) : path,
    content: templates.render(from, seen, `/outputs/artifacts/${index}/from`),
  }));
  signal?.throwIfAborted();
  for (const { path, content } of rendered) await writeArtifact(path, content, place);
  return { last_response, steps, values, artifacts: rendered.map(({ path }) => path) };
}

/** Runs a workflow's pattern. Its notes are also written if it fails: a later run continues them. */
async function ran(run: Run, { pattern }: Workflow, notes: Notes | null): Promise<PatternResult> {
  try {
    return await runPattern(pattern, run);
  } finally {
    await notes?.write();
  }
}

/**
 * Runs a chain's steps in order, then writes its artifacts. Templates see the variables, `last_response`, and `steps`,
 * whose items have `agent` and `response`. Rejects like `run_workflow`, and for another pattern.
 */
export async function run_chain(
  spec: Workflow,
  variables: { readonly [name: string]: unknown } = {},
  options: ChainOptions = {},
): Promise<ChainResult> {
  const { type } = spec.pattern;
  if (type !== "chain") throw new UnsupportedError(`/pattern/type: pattern '${type}' is not supported by run_chain`);
  const { last_response, steps, artifacts } = await run_workflow(spec, variables, options);
  return { last_response, steps, artifacts };
}

function isTemplate(path: string): boolean {
  return path.includes("{{") || path.includes("{%");
}
