import { type ReadonlySignal, signal } from "@preact/signals";
import { getJson, messageOf, pathTo } from "../api.ts";
import { type DurableCall, undecided } from "../durable-call.ts";
import type { Loaded } from "../elements.tsx";
import { addressOf } from "../router.ts";
import { pause } from "./paged-list.ts";

/** Time between two requests for a running call, and for a waiting one. */
const RUNNING_MS = 1_000;
const WAITING_MS = 5_000;

/** A waiting call: the displayed state, and the current one. A state with open decisions is replaced only on demand. */
export class FollowedCall {
  readonly #path: string;
  readonly #closed = new AbortController();
  /** The pause until the next look. */
  #rest = new AbortController();
  readonly #shown = signal<Loaded<DurableCall>>({ kind: "loading" });
  readonly #newer = signal<DurableCall | null>(null);

  readonly shown: ReadonlySignal<Loaded<DurableCall>> = this.#shown;
  /** The current state of the call, if the displayed one is outdated. */
  readonly newer: ReadonlySignal<DurableCall | null> = this.#newer;

  constructor(id: string) {
    this.#path = pathTo`/v1/calls/${id}`;
  }

  async open(): Promise<void> {
    const { signal: closed } = this.#closed;
    // A call that fails to load at first is not requested again.
    while (!closed.aborted && this.#now?.state !== "ended" && this.#shown.value.kind !== "failed") {
      if (document.visibilityState === "visible" || this.#now === null) await this.look();
      this.#rest = new AbortController();
      const state = this.#now?.state;
      const restMs = state === "ready" || state === "running" ? RUNNING_MS : WAITING_MS;
      await pause(restMs, AbortSignal.any([closed, this.#rest.signal]));
    }
  }

  close(): void {
    this.#closed.abort();
  }

  /** Requests the call once. `isWanted`: shows it in any state. */
  async look(isWanted = false): Promise<void> {
    try {
      const call = await getJson<DurableCall>(this.#path, this.#closed.signal);
      // A caller may name another call by an id of this form.
      if (!Array.isArray(call.waits)) location.replace(addressOf("calls", call.id));
      else if (isWanted) this.show(call);
      else this.hear(call);
    } catch (error) {
      // A later look may go well.
      if (this.#now === null && !this.#closed.signal.aborted)
        this.#shown.value = { kind: "failed", message: messageOf(error) };
    }
  }

  /** Shows a call, unless the displayed one has open decisions. */
  hear(call: DurableCall): void {
    const { value } = this.#shown;
    if (value.kind !== "ready" || undecided(value.value) === 0) return this.show(call);
    this.#newer.value = markOf(call) === markOf(value.value) ? null : call;
  }

  /** Shows a call in place of the displayed one, and soon requests it again. */
  show(call: DurableCall): void {
    this.#rest.abort();
    this.#shown.value = { kind: "ready", value: call };
    this.#newer.value = null;
  }

  get #now(): DurableCall | null {
    const { value } = this.#shown;
    return this.#newer.value ?? (value.kind === "ready" ? value.value : null);
  }
}

/** The compared parts of a call. */
function markOf({ state, legs, waits }: DurableCall): string {
  const marks = waits.map((wait) => [wait.step, wait.state, wait.kind === "approval" && wait.digest]);
  return JSON.stringify([state, legs, marks]);
}
