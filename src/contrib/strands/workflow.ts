/** A normalized workflow from `load_spec`: all fields exist, and every tool has the form `{ callable }`. */
export interface Workflow {
  readonly version: number | string;
  readonly name: string;
  readonly description: string;
  readonly runtime: Runtime;
  /** By id, without a prototype. */
  readonly agents: { readonly [id: string]: Agent };
  readonly pattern: Pattern;
  readonly tools: { readonly [kind: string]: readonly ToolEntry[] };
  readonly outputs: { readonly artifacts: readonly Artifact[] };
  readonly inputs: Inputs;
  readonly skills: readonly Skill[];
  /** Sections that are neither run nor hints: `check_capability` decides about each. As they were written. */
  readonly others: { readonly [section in OtherSection]?: unknown };
}

/** Instructions that an agent loads when it needs them. */
export interface Skill {
  readonly id: string;
  readonly description: string;
  /** Texts by their names: `""` is the skill itself, `patterns` is its `patterns.md`. Without a prototype. */
  readonly modules: { readonly [name: string]: string };
}

export type OtherSection = "env" | "context_policy" | "security";

/** Model and its server. */
export interface Runtime extends Inference {
  readonly provider: string;
  /** Default of agents without a `model_id`; `""` if the file names no model. */
  readonly model_id: string;
  /** URL of the server; each provider has a default. */
  readonly host?: string;
  /** Maximum number of agents that run at the same time. Default: 5. */
  readonly max_parallel?: number;
  readonly budgets?: Budgets;
  readonly failure_policy?: FailurePolicy;
}

/** Parameters of a model request. */
export interface Inference {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
}

/** Limits of one run. */
export interface Budgets {
  /** Maximum number of agent runs. */
  readonly max_steps?: number;
  /** Maximum sum of the tokens that the model's server reports. */
  readonly max_tokens?: number;
  readonly max_duration_s?: number;
}

/** Retries of a model request that failed temporarily. */
export interface FailurePolicy {
  readonly retries?: number;
  readonly backoff?: "constant" | "exponential" | "jittered";
  /** Seconds. */
  readonly wait_min?: number;
  readonly wait_max?: number;
}

export interface Agent {
  /** `""` for an agent of another file. */
  readonly prompt: string;
  /** Ids of the workflow's tools that the agent sees. Default: all. */
  readonly tools?: readonly string[];
  readonly provider?: string;
  readonly model_id?: string;
  readonly inference?: Inference;
  /** Path of another file with the agent. */
  readonly $ref?: string;
}

/** Variables of a run by name, without prototypes. */
export interface Inputs {
  readonly required: { readonly [name: string]: InputSpec };
  readonly optional: { readonly [name: string]: InputSpec };
  readonly values: { readonly [name: string]: string | number | boolean };
}

export type InputType = "string" | "number" | "integer" | "boolean" | "array" | "object";

export interface InputSpec {
  readonly type: InputType;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
}

/** The cooperation of the agents. */
export type Pattern =
  | { readonly type: "chain"; readonly config: ChainConfig }
  | { readonly type: "routing"; readonly config: RoutingConfig }
  | { readonly type: "parallel"; readonly config: ParallelConfig }
  | { readonly type: "workflow"; readonly config: TasksConfig }
  | { readonly type: "evaluator_optimizer"; readonly config: EvaluatorConfig }
  | { readonly type: "orchestrator_workers"; readonly config: OrchestratorConfig }
  | { readonly type: "graph"; readonly config: GraphConfig };

export type PatternType = Pattern["type"];

export interface ChainConfig {
  readonly steps: readonly Step[];
}

export interface RoutingConfig {
  readonly router: {
    readonly agent: string;
    readonly input?: string;
    readonly max_retries?: number;
    readonly review_router?: Step;
  };
  readonly routes: { readonly [name: string]: { readonly then?: readonly Step[] } };
}

export interface ParallelConfig {
  readonly branches: readonly { readonly id: string; readonly steps: readonly Step[] }[];
  readonly reduce?: Step;
}

export interface TasksConfig {
  readonly tasks: readonly Task[];
}

export interface EvaluatorConfig {
  readonly producer: string;
  readonly evaluator: { readonly agent: string; readonly input?: string };
  readonly accept: { readonly min_score: number; readonly max_iters?: number };
  readonly revise_prompt?: string;
  readonly review_gate?: HumanStep;
}

export interface OrchestratorConfig {
  readonly orchestrator: {
    readonly agent: string;
    readonly limits?: { readonly max_workers?: number; readonly max_rounds?: number };
  };
  readonly decomposition_review?: HumanStep;
  readonly worker_template: { readonly agent: string; readonly tools?: readonly string[] };
  readonly reduce_review?: HumanStep;
  readonly reduce?: Step;
  readonly writeup?: Step;
}

export interface GraphConfig {
  readonly max_iterations?: number;
  readonly nodes: { readonly [id: string]: AgentStep | HumanStep };
  readonly edges: readonly GraphEdge[];
}

export interface GraphEdge {
  readonly from: string;
  readonly to?: readonly string[];
  readonly choose?: readonly { readonly when: string; readonly to: string }[];
}

/** A step of an agent, or one that waits for a person. */
export type Step = AgentStep | HumanStep;

/** `input` is a template. Default: no input in addition to the agent's prompt. */
export interface AgentStep {
  readonly agent: string;
  readonly input?: string;
  /** Variables of this step's template. */
  readonly vars?: { readonly [name: string]: string | number | boolean };
  /** Tools instead of the agent's. */
  readonly tool_overrides?: readonly string[];
}

/** A step that waits for a person. Runs have no person to ask: `check_capability` refuses it. */
export interface HumanStep {
  readonly type: "hitl";
  readonly prompt: string;
}

/** A step with an id, run after the tasks in `deps`. */
export type Task = Step & { readonly id: string; readonly deps?: readonly string[] };

/** Whether a step waits for a person. */
export function isHuman(step: Step): step is HumanStep {
  return "type" in step;
}

/** A tool, by its id or its full path. */
export interface ToolEntry {
  readonly callable: string;
}

/** A file to write; both are templates. */
export interface Artifact {
  readonly path: string;
  readonly from: string;
}

/** Supported kinds of tools. `python` is the name in Strands' documents; both mean the same tools. */
export const TOOL_KINDS: readonly string[] = ["python", "javascript"];
