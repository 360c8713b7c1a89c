import { PROGRESS_MESSAGE_MAX } from "../../guest/host.ts";

/** Between two that are told lie so many milliseconds: people watch it, and a tool may report with every turn of a loop. */
const EVERY_MS = 50;

/** What a call says of how far it has come. The latest waits until it may be told, and takes the place of those before. */
export class ProgressThrottle {
  #latest: string | null = null;
  #toldMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  /** Takes what the guest says, which may be anything. `onDue` is called when it may be told: now or later. */
  note(progress: number, total: string, message: string, onDue: () => void): void {
    if (!Number.isFinite(progress) || message.length > PROGRESS_MESSAGE_MAX) return;
    const whole = total === "" ? Number.NaN : Number(total);
    this.#latest = JSON.stringify([progress, Number.isFinite(whole) ? whole : null, message === "" ? null : message]);
    const waitMs = this.#toldMs + EVERY_MS - performance.now();
    if (waitMs <= 0) onDue();
    else this.#timer ??= setTimeout(onDue, waitMs);
  }

  get isPending(): boolean {
    return this.#latest !== null;
  }

  /** What is to be told now, as `[progress, total, message]` in JSON. */
  take(): string | null {
    this.stop();
    const latest = this.#latest;
    this.#latest = null;
    if (latest !== null) this.#toldMs = performance.now();
    return latest;
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
