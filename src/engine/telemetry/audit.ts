import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { AuditFile } from "./audit-file.ts";
import type { CapabilityEvent, CapabilityOutcome } from "../../broker/capability-event.ts";
import { within } from "../../base/deadline.ts";
import type { AuditDrop, Events } from "./events.ts";

/** Entries that wait to be written: of more, the later ones are dropped. */
export const WAITING_MAX = 10_000;
/** UTF-16 units of arguments that are kept until they are hashed; those of later entries are hashed at once. */
const KEPT_MAX = 16 * 1024 * 1024;
/** How long entries are gathered before they are written. */
const GATHER_MS = 50;
/** Of what one batch is made: it is hashed without a pause. */
const BATCH_MAX = 256;
const BATCH_ARGS_MAX = 1024 * 1024;
/** Drops within this time are told together. */
const TELL_MS = 250;
/** Longest name, in characters. */
const NAME_MAX = 1_024;
/** How long closing waits for a file that takes nothing. */
const CLOSE_MS = 2_000;

/**
 * What was decided. `none`: nothing, because the broker could not, or the call was run again and asked for something
 * else than before.
 */
export type AuditDecision = "granted" | "denied" | "limit" | "none";

/** What a tool asked the host for, and what came of it. */
export interface AuditEntry {
  /** When it was answered, in ISO 8601. */
  readonly time: string;
  readonly callId: string;
  /** The call on whose behalf the call was made, where a tool called it. */
  readonly parentId?: string;
  readonly tool: string;
  readonly tenant: string;
  /** Counts the call's asks from 1. */
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  /** SHA-256 of the arguments' JSON, in hexadecimal. */
  readonly argsHash: string;
  /** UTF-16 units of the arguments' and the answer's JSON. */
  readonly argsLength: number;
  readonly answerLength: number;
  readonly durationMs: number;
  readonly outcome: CapabilityOutcome;
  readonly decision: AuditDecision;
  /** The rules of the policy that gave it, by their places from 0. */
  readonly rules: readonly number[];
}

/** Where the audit goes: a file, to which it is appended as lines of JSON, or a function that gets each entry, and may be async. */
export type AuditTarget = string | ((entry: AuditEntry) => unknown);

/** A line to be. */
interface Waiting {
  /** UTF-16 units of arguments that it keeps. */
  readonly kept: number;
  readonly render: () => AuditEntry | AuditDrop;
}

/**
 * Writes down what tools ask the host for: a subscriber of the engine's events, of which no call waits for anything.
 * Arguments are hashed when their entries are written.
 */
export class Audit {
  readonly #events: Events;
  readonly #file: AuditFile | null;
  readonly #take: (entry: AuditEntry) => unknown;
  readonly #waiting: Waiting[] = [];
  #kept = 0;
  #writing: Promise<void> | null = null;
  /** What was dropped and is not in the audit yet, and what of it nobody has been told. */
  #dropped: AuditDrop | null = null;
  #untold: AuditDrop | null = null;
  #telling: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isGivenUp = false;

  /** Throws a `TypeError` if the target is invalid or its file cannot be opened. */
  constructor(target: AuditTarget, events: Events) {
    if (typeof target !== "function" && (typeof target !== "string" || target === "")) {
      throw new TypeError("audit must be the path of a file or a function");
    }
    this.#events = events;
    this.#file = typeof target === "string" ? new AuditFile(target) : null;
    this.#take = typeof target === "string" ? () => undefined : target;
    events.on("capability:call", (event) => this.#add(event));
  }

  /** Resolves when everything is written, or cannot be within a short time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await within(CLOSE_MS, this.#writing ?? Promise.resolve());
    this.#isGivenUp = true;
    const left = this.#waiting.splice(0).length;
    if (left > 0) this.#drop(left);
    // A write that is under way has the file until it ends.
    await within(
      CLOSE_MS,
      Promise.resolve(this.#writing).then(() => this.#file?.close()),
    );
    this.#tell();
  }

  #add(event: CapabilityEvent): void {
    if (this.#isClosed || this.#waiting.length >= WAITING_MAX) return this.#drop(1);
    const atMs = Date.now();
    if (this.#kept + event.argsLength <= KEPT_MAX) {
      this.#kept += event.argsLength;
      this.#waiting.push({ kept: event.argsLength, render: () => entryOf(event, atMs) });
    } else {
      // What is too much to be kept is hashed now: no tool gets around the audit by asking for much.
      const entry = entryOf(event, atMs);
      this.#waiting.push({ kept: 0, render: () => entry });
    }
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    await delay(GATHER_MS, undefined, { ref: false });
    while (this.#waiting.length > 0) {
      const batch = this.#next();
      if (this.#file === null) await this.#hand(batch);
      else {
        const lines = batch.map((each) => `${JSON.stringify(each.render())}\n`).join("");
        const lost = await this.#file.append(lines, () => this.#isGivenUp);
        if (lost > 0) this.#drop(lost);
      }
    }
    this.#writing = null;
  }

  /** Takes what is written next. As there is room again, what had none is told first of what comes now. */
  #next(): Waiting[] {
    let size = 0;
    for (let args = 0; size < Math.min(this.#waiting.length, BATCH_MAX) && args < BATCH_ARGS_MAX; size++) {
      args += this.#waiting[size]?.kept ?? 0;
    }
    const batch = this.#waiting.splice(0, size);
    for (const { kept } of batch) this.#kept -= kept;
    const drop = this.#dropped;
    if (drop !== null && this.#file !== null) this.#waiting.push({ kept: 0, render: () => drop });
    this.#dropped = null;
    return batch;
  }

  async #hand(batch: readonly Waiting[]): Promise<void> {
    for (const { render } of batch) {
      try {
        // Whoever gives an async function is not waited for, but heard when it fails.
        Promise.resolve(this.#take(render() as AuditEntry)).catch(() => this.#drop(1));
      } catch {
        this.#drop(1);
      }
    }
    await setImmediate();
  }

  #drop(count: number): void {
    const since = new Date().toISOString();
    this.#dropped = { dropped: (this.#dropped?.dropped ?? 0) + count, since: this.#dropped?.since ?? since };
    this.#untold = { dropped: (this.#untold?.dropped ?? 0) + count, since: this.#untold?.since ?? since };
    this.#telling ??= setTimeout(() => this.#tell(), TELL_MS).unref();
  }

  #tell(): void {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    const drop = this.#untold;
    this.#untold = null;
    if (drop !== null) this.#events.emit("audit:drop", drop);
  }
}

function entryOf(event: CapabilityEvent, atMs: number): AuditEntry {
  const { callId, parentId, tool, tenant, step, capability, method, argsHash, argsLength } = event;
  const { answerLength, durationMs, outcome, rules } = event;
  return {
    time: new Date(atMs).toISOString(),
    callId,
    ...(parentId === undefined ? {} : { parentId }),
    tool,
    tenant: clip(tenant),
    step,
    capability: clip(capability),
    method: clip(method),
    argsHash,
    argsLength,
    answerLength,
    durationMs: Math.round(durationMs * 1e3) / 1e3,
    outcome,
    decision: decisionOf(event),
    rules,
  };
}

/** What callers and executors name may be of any length. */
function clip(name: string): string {
  return name.slice(0, NAME_MAX);
}

function decisionOf({ outcome, rules }: CapabilityEvent): AuditDecision {
  if (outcome === "denied" || outcome === "limit") return outcome;
  return rules.length > 0 ? "granted" : "none";
}
