import { ApiError, watchStats } from "./api.ts";
import type { Stats } from "./wire.ts";

/** Number of snapshots kept: two minutes, as the charts show. */
const KEPT_MAX = 120;
const RETRY_MS = 2_000;

/** `refused`: the key has no access; retried only with another key. */
export type FeedState =
  { readonly kind: "connecting" | "live" } | { readonly kind: "lost" | "refused"; readonly reason: string };

/** Receives the server's snapshots while the page is visible. */
export class StatsFeed {
  readonly #onChange: () => void;
  #history: readonly Stats[] = [];
  #state: FeedState = { kind: "connecting" };
  #current: AbortController | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.restart();
      else this.#stop();
    });
  }

  get history(): readonly Stats[] {
    return this.#history;
  }

  get last(): Stats | undefined {
    return this.#history.at(-1);
  }

  get state(): FeedState {
    return this.#state;
  }

  restart(): void {
    this.#stop();
    const current = new AbortController();
    this.#current = current;
    void this.#watch(current.signal);
  }

  #stop(): void {
    this.#current?.abort();
    clearTimeout(this.#retry);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    let reason = "the server ended the stream";
    try {
      await watchStats((stats) => {
        if (signal.aborted) return;
        this.#history = [...this.#history, stats].slice(-KEPT_MAX);
        this.#change({ kind: "live" });
      }, signal);
    } catch (error) {
      if (signal.aborted) return;
      reason = error instanceof ApiError ? error.message : "the connection was lost";
      // Do not retry: the same key would be refused again.
      if (error instanceof ApiError && (error.status === 401 || error.status === 403))
        return this.#change({ kind: "refused", reason });
    }
    if (signal.aborted) return;
    this.#change({ kind: "lost", reason });
    this.#retry = setTimeout(() => this.restart(), RETRY_MS);
  }

  #change(state: FeedState): void {
    this.#state = state;
    this.#onChange();
  }
}
