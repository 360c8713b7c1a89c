import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../../../base/errors.ts";
import { StoreFailure } from "./call-backend.ts";
import type { StepAnswer } from "./messages.ts";

/** Steps of one transaction. */
const GROUP_MAX = 256;
/** Maximum wait while another process writes, and maximum pause between tries. */
const WAIT_MS = 2_000;
const PAUSE_MS = 5;

type NumberedStep<Step> = readonly [ask: number, step: Step];

/**
 * Takes steps that are written before they are answered, on the store's thread, before waiting calls and lists. Steps
 * that arrive during a transaction form the next one.
 */
export class StepLine<Step, Answer> {
  readonly #take: (steps: readonly Step[]) => readonly (Answer | StoreError | null)[];
  readonly #tell: (answers: readonly StepAnswer<Answer>[]) => void;
  readonly #waiting: NumberedStep<Step>[] = [];
  #isGoing = false;

  /** `take`: takes steps in one transaction; a failed one is answered by a `StoreError`. Throws a `StoreFailure`. */
  constructor(
    take: (steps: readonly Step[]) => readonly (Answer | StoreError | null)[],
    tell: (answers: readonly StepAnswer<Answer>[]) => void,
  ) {
    this.#take = take;
    this.#tell = tell;
  }

  take(steps: readonly NumberedStep<Step>[]): void {
    this.#waiting.push(...steps);
    if (this.#isGoing) return;
    this.#isGoing = true;
    setImmediate(() => void this.#go());
  }

  /** Takes waiting steps, without retries. */
  end(): void {
    while (this.#waiting.length > 0) this.#tell(this.#answers(this.#waiting.splice(0, GROUP_MAX), 0) ?? []);
  }

  async #go(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, GROUP_MAX);
      const untilMs = performance.now() + WAIT_MS;
      let answers = this.#answers(group, untilMs);
      while (answers === null) {
        await delay(PAUSE_MS * Math.random());
        answers = this.#answers(group, untilMs);
      }
      this.#tell(answers);
    }
    this.#isGoing = false;
  }

  /** `null` if another process writes, and there is time for a retry. */
  #answers(group: readonly NumberedStep<Step>[], untilMs: number): readonly StepAnswer<Answer>[] | null {
    try {
      const claims = this.#take(group.map(([, step]) => step));
      return group.map(([ask], at) => {
        const answer = claims[at] ?? null;
        if (!(answer instanceof StoreError)) return [ask, answer, null];
        const { message, isUnanswered, isDamaged } = answer;
        return [ask, null, message, { isUnanswered, isDamaged }];
      });
    } catch (error) {
      const isLocked = error instanceof StoreFailure && error.problem.reason === "locked";
      if (isLocked && performance.now() < untilMs) return null;
      const message = error instanceof StoreFailure && !isLocked ? error.message : BUSY;
      return group.map(([ask]) => [ask, null, message]);
    }
  }
}

const BUSY = "the store is busy: try again later";
