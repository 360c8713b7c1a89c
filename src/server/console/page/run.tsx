import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { type CallBody, type CallListener, messageOf, runCall } from "./api.ts";
import { announce } from "./elements.tsx";
import type { CapabilityCall, LogLine, Progress, ToolResult } from "./wire.ts";

/** Maximum number of lines shown while a call runs; its result contains all that were kept. */
const LIVE_MAX = 500;

/** The executed call, its result, and its capability calls. */
export interface Outcome {
  readonly body: CallBody;
  readonly result: ToolResult;
  readonly capabilities: readonly CapabilityCall[];
}

export type RunState =
  | { readonly kind: "idle" }
  | { readonly kind: "running"; readonly startedMs: number }
  | { readonly kind: "failed"; readonly message: string }
  | ({ readonly kind: "ended" } & Outcome);

/** One call after the other: its displayed state, during the run and after. */
export class Run implements CallListener {
  readonly state = signal<RunState>({ kind: "idle" });
  readonly logs = signal<readonly LogLine[]>([]);
  readonly progress = signal<Progress | null>(null);
  #capabilities: CapabilityCall[] = [];
  #running: AbortController | null = null;

  get isRunning(): boolean {
    return this.state.value.kind === "running";
  }

  /**
   * Runs a call. Returns its outcome, or `null` if none exists; `noun` names it in the message about its
   * cancellation.
   */
  async start(body: CallBody, noun: string): Promise<Outcome | null> {
    const running = new AbortController();
    this.#running = running;
    this.#capabilities = [];
    this.logs.value = [];
    this.progress.value = null;
    this.state.value = { kind: "running", startedMs: performance.now() };
    try {
      const result = await runCall(body, this, running.signal);
      const outcome = { body, result, capabilities: this.#capabilities };
      this.show(outcome);
      return outcome;
    } catch (error) {
      const message = running.signal.aborted ? `You cancelled the ${noun}.` : messageOf(error);
      this.state.value = { kind: "failed", message };
      announce(message);
      return null;
    }
  }

  show(outcome: Outcome): void {
    this.state.value = { kind: "ended", ...outcome };
  }

  cancel(): void {
    this.#running?.abort();
  }

  onLog(line: LogLine): void {
    if (this.logs.value.length < LIVE_MAX) this.logs.value = [...this.logs.value, line];
  }

  onProgress(progress: Progress): void {
    this.progress.value = progress;
  }

  onCapability(call: CapabilityCall): void {
    if (this.#capabilities.length < LIVE_MAX) this.#capabilities.push(call);
  }
}

/** A run of a view, which is cancelled when the view is closed. */
export function useRun(): Run {
  const run = useMemo(() => new Run(), []);
  useEffect(() => () => run.cancel(), [run]);
  return run;
}

interface RunFormProps {
  readonly run: Run;
  readonly onRun: () => void;
  /** Further buttons next to the one that runs. */
  readonly actions?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** A form around a call. Ctrl+Enter runs and never cancels; the button and Ctrl+. cancel. */
export function RunForm({ run, onRun, actions, children }: RunFormProps) {
  const { isRunning } = run;
  const start = (): void => {
    if (!run.isRunning) onRun();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!event.ctrlKey && !event.metaKey) return;
    if (event.key === "Enter") start();
    else if (event.key === "." && run.isRunning) run.cancel();
    else return;
    event.preventDefault();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    start();
  };
  const onButton = (event: Event): void => {
    if (!run.isRunning) return;
    event.preventDefault();
    run.cancel();
  };
  return (
    <form class="stack" noValidate onSubmit={submit} onKeyDown={onKey}>
      {children}
      <div class="row actions">
        <button
          type="submit"
          class="primary"
          aria-keyshortcuts={isRunning ? "Control+." : "Control+Enter"}
          onClick={onButton}
        >
          {isRunning ? "Cancel" : "Run"}
        </button>
        <span class="muted keys" aria-hidden="true">
          <kbd>Ctrl</kbd> <kbd>{isRunning ? "." : "Enter"}</kbd>
        </span>
        {actions}
      </div>
    </form>
  );
}

const TICK_MS = 100;

/** Milliseconds since a time, counting. */
export function useElapsed(startedMs: number): number {
  const now = useSignal(performance.now());
  useEffect(() => {
    const ticking = setInterval(() => (now.value = performance.now()), TICK_MS);
    return () => clearInterval(ticking);
  }, [startedMs]);
  return Math.max(0, now.value - startedMs);
}
