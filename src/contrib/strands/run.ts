import { type AgentAnswer, askAgent } from "./agent.ts";
import type { Budget } from "./budget.ts";
import { SpecError } from "./errors.ts";
import type { Scope } from "./expression.ts";
import type { ModelProvider } from "./model.ts";
import type { Notes } from "./notes.ts";
import { createProvider } from "./providers.ts";
import type { ToolRegistry } from "./registry.ts";
import { withSkillList, withSkillTool } from "./skills.ts";
import type { Templates } from "./template.ts";
import { loadTools } from "./tool-adapter.ts";
import type { AgentStep, Workflow } from "./workflow.ts";

/** A completed run of an agent. */
export interface RanStep extends Omit<AgentAnswer, "text"> {
  readonly agent: string;
  readonly response: string;
}

/** The result of a pattern. */
export interface PatternResult {
  readonly last_response: string;
  /** All runs of agents. */
  readonly steps: readonly RanStep[];
  /** Values for artifacts in addition to the variables. */
  readonly values: Scope;
}

export interface RunOptions {
  readonly spec: Workflow;
  readonly variables: Scope;
  readonly templates: Templates;
  readonly registry: ToolRegistry;
  readonly provider: ModelProvider | undefined;
  readonly budget: Budget;
  readonly maxTurns: number;
  readonly signal: AbortSignal | undefined;
  readonly notes: Notes | null;
}

const PARALLEL = 5;

/** One run of a workflow, from its pattern's side. */
export class Run {
  readonly variables: Scope;
  readonly #options: RunOptions;
  readonly #providers = new Map<string, ModelProvider>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;

  constructor(options: RunOptions) {
    this.#options = options;
    this.variables = options.variables;
    const signals = [options.signal, options.budget.signal].filter((signal) => signal !== undefined);
    this.#signal = AbortSignal.any([this.#stop.signal, ...signals]);
    this.#providerOf(options.spec.runtime.provider);
  }

  render(template: string, values: Scope, pointer: string): string {
    return this.#options.templates.render(template, { ...this.variables, ...values }, pointer);
  }

  promptOf(agent: string): string {
    const { agents } = this.#options.spec;
    return (Object.hasOwn(agents, agent) ? agents[agent]?.prompt : undefined) ?? "";
  }

  /** Runs an agent on the text of a step's template. */
  async runStep({ agent, input = "", vars = {}, tool_overrides }: AgentStep, values: Scope, pointer: string) {
    return this.ask(agent, this.render(input, { ...values, ...vars }, `${pointer}/input`), pointer, tool_overrides);
  }

  /** Runs an agent. Rejects with a subclass of `WorkflowError`. */
  async ask(agent: string, input: string, pointer: string, tools?: readonly string[]): Promise<RanStep> {
    const { spec, registry, maxTurns, budget, notes } = this.#options;
    this.#signal.throwIfAborted();
    const found = Object.hasOwn(spec.agents, agent) ? spec.agents[agent] : undefined;
    if (found === undefined) {
      throw new SpecError(spec.name, [{ pointer: `${pointer}/agent`, message: `there is no agent "${agent}"` }]);
    }
    budget.takeStep();
    const { temperature, top_p, max_tokens } = { ...spec.runtime, ...found.inference };
    const inference = Object.entries({ temperature, top_p, max_tokens }).filter(([, value]) => value !== undefined);
    const prompt = withSkillList(found.prompt, spec.skills);
    const { text, turns, calls } = await askAgent(notes?.added(prompt) ?? prompt, input, {
      provider: this.#providerOf(found.provider ?? spec.runtime.provider),
      model: found.model_id ?? spec.runtime.model_id,
      tools: withSkillTool(loadTools(spec, registry, tools ?? found.tools), spec.skills),
      maxTurns,
      signal: this.#signal,
      ...(inference.length === 0 ? {} : { inference: Object.fromEntries(inference) }),
    });
    const step = { agent, response: text, turns, calls };
    notes?.note(step, input);
    return step;
  }

  /** Runs tasks at the same time, in their order, not more than `most` at once. The first that fails stops the others. */
  async inParallel<Item, Result>(
    items: readonly Item[],
    work: (item: Item, index: number) => Promise<Result>,
    most: number = this.#options.spec.runtime.max_parallel ?? PARALLEL,
  ): Promise<readonly Result[]> {
    const results: Result[] = [];
    const rest = items.entries();
    const failures: unknown[] = [];
    const lane = async (): Promise<void> => {
      for (const [index, item] of rest) {
        if (failures.length > 0) return;
        try {
          results[index] = await work(item, index);
        } catch (error) {
          failures.push(error);
          this.#stop.abort();
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane));
    if (failures.length > 0) throw failures[0];
    return results;
  }

  /** The caller's provider, or the one of that name; the workflow's host is only for its own. */
  #providerOf(name: string): ModelProvider {
    const known = this.#providers.get(name);
    if (known !== undefined) return known;
    const { provider, budget, spec } = this.#options;
    const { failure_policy, host } = spec.runtime;
    const made = budget.meter(
      provider ??
        createProvider({
          provider: name,
          ...(host === undefined || name !== spec.runtime.provider ? {} : { host }),
          ...(failure_policy === undefined ? {} : { failure_policy }),
        }),
    );
    this.#providers.set(name, made);
    return made;
  }
}
