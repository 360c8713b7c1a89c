import { BudgetError } from "./errors.ts";
import type { ModelProvider } from "./model.ts";
import type { Budgets } from "./workflow.ts";

const TIMER_MAX_MS = 2_147_483_647;

/** The limits of a run, and its use of them. */
export class Budget {
  readonly #budgets: Budgets;
  readonly #deadline: AbortSignal | undefined;
  #steps = 0;
  #tokens = 0;

  constructor(budgets: Budgets = {}) {
    this.#budgets = budgets;
    const { max_duration_s } = budgets;
    if (max_duration_s === undefined) return;
    this.#deadline = AbortSignal.timeout(Math.min(TIMER_MAX_MS, max_duration_s * 1_000));
  }

  /** Aborts when the time is over. */
  get signal(): AbortSignal | undefined {
    return this.#deadline;
  }

  /** The error that an aborted run ends with; `null` if its time is not over. */
  get overtime(): BudgetError | null {
    if (this.#deadline?.aborted !== true) return null;
    return new BudgetError(`the run takes longer than max_duration_s, ${this.#budgets.max_duration_s}`);
  }

  /** Counts an agent's run. Throws a `BudgetError` if there must be no more. */
  takeStep(): void {
    const { max_steps = Infinity } = this.#budgets;
    if (++this.#steps > max_steps) throw new BudgetError(`the run takes more steps than max_steps, ${max_steps}`);
  }

  /** A model that gets requests only while tokens are left. */
  meter(provider: ModelProvider): ModelProvider {
    return {
      generate: async (messages, options) => {
        const { max_tokens = Infinity } = this.#budgets;
        if (this.#tokens >= max_tokens) throw new BudgetError(`the run has used max_tokens, ${max_tokens}`);
        const answer = await provider.generate(messages, options);
        this.#tokens += answer.tokens ?? 0;
        return answer;
      },
    };
  }
}
