import { BoundedCache } from "../../base/bounded-cache.ts";

const REFUSALS_MAX = 10_000;

/** Tools whose calls for a tenant some machine refuses, because of what they did there. */
export class Refusals {
  readonly #untilMs = new BoundedCache<number>(REFUSALS_MAX);

  note(tool: string, tenant: string, refusedForMs: number): void {
    this.#untilMs.set(JSON.stringify([tool, tenant]), performance.now() + refusedForMs);
  }

  /** How long still; 0 where it is not refused. */
  forMs(tool: string, tenant: string): number {
    const untilMs = this.#untilMs.get(JSON.stringify([tool, tenant])) ?? 0;
    return Math.max(0, Math.ceil(untilMs - performance.now()));
  }
}
