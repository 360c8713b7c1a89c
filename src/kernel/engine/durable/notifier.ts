import type { CallNote, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import type { Events } from "../telemetry/events.ts";
import { linkOf } from "./decision-links.ts";
import { Looks } from "./looks.ts";
import { notificationOf } from "./notification.ts";
import type { ResolvedTarget } from "./notify-options.ts";

/** Deliveries at once. A failing target has one of them. */
const AT_ONCE = 4;
const DELIVERY_MS = 10_000;
/** Time for which a note is tried, and pauses between two tries. */
const TRIED_MS = 24 * 60 * 60 * 1_000;
const PAUSE_LEAST_MS = 1_000;
const PAUSE_MOST_MS = 10 * 60_000;
/** Interval of looks for changes of other processes, and minimum pause between two looks. */
const LOOK_MS = 5_000;
const LOOK_LEAST_MS = 100;

interface NotifierParts {
  readonly take: TakeDurable;
  readonly targets: readonly ResolvedTarget[];
  readonly events: Pick<Events, "emit">;
  /** A clock in place of that of the process. */
  readonly clock?: NotifierClock;
}

interface NotifierClock {
  nowMs(): number;
  /** Aborts after a time. */
  deadline(ms: number): AbortSignal;
}

const CLOCK: NotifierClock = { nowMs: () => Date.now(), deadline: (ms) => AbortSignal.timeout(ms) };

/** Delivers the notes of calls to their targets, at least once. */
export class Notifier {
  readonly #parts: NotifierParts;
  readonly #clock: NotifierClock;
  readonly #closing = new AbortController();
  readonly #running = new Map<Promise<void>, string>();
  /** Targets whose last delivery has failed. */
  readonly #failing = new Set<string>();
  readonly #looks = new Looks(
    () => this.#look(),
    () => this.#pauseMs(),
  );
  #dueMs: number | null = null;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? CLOCK;
  }

  /** Looks for notes. */
  look(): void {
    this.#looks.ask();
  }

  /** Aborts running deliveries: their notes are due again at once. */
  async close(): Promise<void> {
    this.#looks.stop();
    this.#closing.abort();
    await this.#looks.ended();
    await Promise.all(this.#running.keys());
  }

  async #look(): Promise<void> {
    try {
      await this.#begin();
    } catch {
      // The store cannot be used now: the next look retries.
    }
  }

  /** Time until the next look. */
  #pauseMs(): number {
    const dueMs = Math.max(LOOK_LEAST_MS, (this.#dueMs ?? Infinity) - this.#clock.nowMs());
    // The end of a delivery causes a look.
    const isFull = this.#running.size >= AT_ONCE;
    return isFull ? LOOK_MS : Math.min(dueMs, LOOK_MS);
  }

  async #begin(): Promise<void> {
    const { take, targets, events } = this.#parts;
    const busy = [...this.#running.values()];
    const asked = targets.map(({ id, events: wanted }) => {
      const most = this.#failing.has(id) ? 1 - busy.filter((one) => one === id).length : AT_ONCE;
      return { id, events: wanted, most };
    });
    const most = AT_ONCE - busy.length;
    const answer = await take({ kind: "notes", targets: asked, most, nowMs: this.#clock.nowMs() });
    if (answer.kind !== "notes") return;
    this.#dueMs = answer.dueMs;
    if (answer.dropped > 0) events.emit("call:notify", { outcome: "dropped", count: answer.dropped });
    for (const note of answer.notes) {
      const target = targets.find(({ id }) => id === note.target);
      if (target === undefined) continue;
      const running = this.#deliver(note, target)
        .catch(() => undefined)
        .finally(() => {
          this.#running.delete(running);
          this.look();
        });
      this.#running.set(running, target.id);
    }
  }

  async #deliver(note: CallNote, target: ResolvedTarget): Promise<void> {
    const { take, events } = this.#parts;
    const reason = await this.#send(note, target);
    const nowMs = this.#clock.nowMs();
    if (this.#closing.signal.aborted && reason !== null) {
      await take({ kind: "told", n: note.n, dueMs: nowMs });
      return;
    }
    if (reason === null) this.#failing.delete(target.id);
    else this.#failing.add(target.id);
    const { event, id, tries, call } = note;
    const isGivenUp = reason !== null && nowMs - note.madeMs >= TRIED_MS;
    const isOver = reason === null || isGivenUp;
    await take({ kind: "told", n: note.n, dueMs: isOver ? null : nowMs + pauseMs(tries) });
    const of = { target: target.host, event, note: id, tries, id: call.id, callId: call.callId, tool: call.tool };
    const outcome = reason === null ? "delivered" : isGivenUp ? "given_up" : "failed";
    events.emit("call:notify", { outcome, count: 1, ...of, tenant: call.tenant, ...(reason !== null && { reason }) });
  }

  /** The reason for which a note is not delivered; `null` if it is. */
  async #send(note: CallNote, target: ResolvedTarget): Promise<string | null> {
    const nowMs = this.#clock.nowMs();
    const { body, headers } = notificationOf(
      note,
      target,
      (wait) => linkOf(target, note.call, wait, note.madeMs),
      nowMs,
    );
    const deadline = this.#clock.deadline(DELIVERY_MS);
    try {
      const response = await fetch(target.url, {
        method: "POST",
        redirect: "manual",
        headers,
        body,
        signal: AbortSignal.any([deadline, this.#closing.signal]),
      });
      // Only the status of an answer is read.
      void response.body?.cancel().catch(() => undefined);
      return response.ok ? null : `it answered ${response.status}`;
    } catch {
      return deadline.aborted ? `it did not answer within ${DELIVERY_MS / 1_000} s` : "it cannot be reached";
    }
  }
}

/** Pause after a try: doubled with each, and spread, so that many notes are not tried at the same moment. */
function pauseMs(tries: number): number {
  const ms = Math.min(PAUSE_MOST_MS, PAUSE_LEAST_MS * 2 ** Math.min(tries - 1, 20));
  return Math.round(ms * (0.5 + Math.random() / 2));
}
