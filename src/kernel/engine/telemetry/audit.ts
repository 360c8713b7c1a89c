import { setImmediate, setTimeout as delay } from "node:timers/promises";
import { AuditFile } from "./audit-file.ts";
import type { CapabilityEvent, CapabilityOutcome } from "../../broker/capability-event.ts";
import { within } from "../../base/deadline.ts";
import type { Decision } from "../../store/calls/durable/durable-call.ts";
import type { CancelEvent, SnippetEvent } from "./durable-events.ts";
import type { AuditDrop, Events } from "./events.ts";

/** Maximum number of entries waiting to be written; later ones are dropped. */
export const WAITING_MAX = 10_000;
/** Arguments, in UTF-16 units, held until they are hashed; beyond this they are hashed at once. */
const KEPT_MAX = 16 * 1024 * 1024;
/** Time for which entries are gathered before a write, in milliseconds. */
const GATHER_MS = 50;
/** Size of one batch, in entries and UTF-16 units: a batch is hashed without yielding. */
const BATCH_MAX = 256;
const BATCH_ARGS_MAX = 1024 * 1024;
/** Interval at which drops are reported, in milliseconds. */
const TELL_MS = 250;
/** Maximum length of a name, in characters. */
const NAME_MAX = 1_024;
/** Maximum time for which closing waits for a file that accepts no data, in milliseconds. */
const CLOSE_MS = 2_000;

/**
 * Decision on a capability call. `none`: the broker could not decide, or the restarted call made a different request
 * than before.
 */
export type AuditDecision = "granted" | "denied" | "limit" | "none";

/** One capability call with its outcome. */
export interface AuditEntry {
  /** Time of the response, in ISO 8601. */
  readonly time: string;
  readonly callId: string;
  /** Id of the calling call, if a tool made this call. */
  readonly parentId?: string;
  readonly tool: string;
  readonly tenant: string;
  /** Number of the capability call within its call, from 1. */
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  /** SHA-256 of the arguments' JSON, in hexadecimal. */
  readonly argsHash: string;
  /** Lengths of the JSON of arguments and response, in UTF-16 units. */
  readonly argsLength: number;
  readonly answerLength: number;
  readonly durationMs: number;
  readonly outcome: CapabilityOutcome;
  readonly decision: AuditDecision;
  /** Indexes of the policy rules that granted it, from 0. */
  readonly rules: readonly number[];
}

/** An action on a call that waits, or is in doubt. */
export interface AuditAct {
  /** Its time, in ISO 8601. */
  readonly time: string;
  readonly act: "decide" | "signal" | "cancel" | "undo";
  /** Id by which the call is kept. */
  readonly id: string;
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  /** Name of the key; `null` without keys. */
  readonly key: string | null;
  /** A decision: name of the decider, from the deciding application. */
  readonly actor?: string | null;
  /** A decision: the step of its wait. */
  readonly step?: number;
  readonly decision?: Decision["decision"];
  /** A decision: digest of the tool, its version and its arguments, as an approval showed them; `null` for an effect. */
  readonly digest?: string | null;
  /** A decision: whether the arguments to run differ from the shown ones. */
  readonly isEdited?: boolean;
  /** Name of a signal. */
  readonly signal?: string;
}

/** An action on a snippet of a tenant. */
export interface AuditSnippet {
  /** Its time, in ISO 8601. */
  readonly time: string;
  readonly act: "save_snippet" | "delete_snippet";
  readonly name: string;
  readonly tenant: string;
  /** Name of the key; `null` without keys. */
  readonly key: string | null;
  /** The saved version. */
  readonly version?: string;
}

/** An entry of the audit, as a function receives it. */
export type AuditRecord = AuditEntry | AuditAct | AuditSnippet;

/**
 * Target of the audit: a file, to which JSON lines are appended, or a function, possibly async, that receives each
 * entry.
 */
export type AuditTarget = string | ((entry: AuditRecord) => unknown);

/** An entry waiting to be written. */
interface Waiting {
  /** Arguments that it holds, in UTF-16 units. */
  readonly kept: number;
  readonly render: () => AuditRecord | AuditDrop;
}

/**
 * Writes an entry for each capability call, and each action on a waiting call or a snippet. A subscriber of the
 * engine's events, for which no call waits. Arguments are hashed when their entries are written.
 */
export class Audit {
  readonly #events: Events;
  readonly #file: AuditFile | null;
  readonly #take: (entry: AuditRecord) => unknown;
  readonly #waiting: Waiting[] = [];
  #kept = 0;
  #writing: Promise<void> | null = null;
  /** Drops not yet written to the audit, and drops not yet reported as an event. */
  #dropped: AuditDrop | null = null;
  #untold: AuditDrop | null = null;
  #reporting: NodeJS.Timeout | undefined;
  #isClosed = false;
  #isGivenUp = false;

  /** Throws a `TypeError` if the target is invalid or its file cannot be opened. */
  constructor(target: AuditTarget, events: Events) {
    if (typeof target !== "function" && (typeof target !== "string" || target === "")) {
      throw new TypeError("audit must be the path of a file or a function");
    }
    this.#events = events;
    const told = {
      onDown: (code: string, downMs: number) => events.emit("audit:down", { code, downMs }),
      onUp: (downMs: number) => events.emit("audit:up", { downMs }),
    };
    this.#file = typeof target === "string" ? new AuditFile(target, told) : null;
    this.#take = typeof target === "string" ? () => undefined : target;
    events.on("capability:call", (event) => this.#add(event));
    events.on("call:decide", (event) => {
      const { step, decision, digest, isEdited } = event;
      const actor = event.actor === null ? null : clip(event.actor);
      this.#act({ ...actOf("decide", event), actor, step, decision, digest, isEdited });
    });
    events.on("call:signal", (event) => this.#act({ ...actOf("signal", event), signal: event.name }));
    events.on("call:cancel", (event) => this.#act(actOf("cancel", event)));
    events.on("call:undo", (event) => this.#act(actOf("undo", event)));
    events.on("snippet:save", ({ version, ...event }) => this.#act({ ...snippetOf("save_snippet", event), version }));
    events.on("snippet:delete", (event) => this.#act(snippetOf("delete_snippet", event)));
  }

  /** Resolves when all entries are written, or have been dropped after a short time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await within(CLOSE_MS, this.#writing ?? Promise.resolve());
    this.#isGivenUp = true;
    const left = this.#waiting.splice(0).length;
    if (left > 0) this.#drop(left);
    // A pending write uses the file until it ends.
    await within(
      CLOSE_MS,
      Promise.resolve(this.#writing).then(() => this.#file?.close()),
    );
    this.#report();
  }

  #add(event: CapabilityEvent): void {
    if (this.#isFull) return this.#drop(1);
    const atMs = Date.now();
    const { argsLength } = event;
    if (this.#kept + argsLength <= KEPT_MAX) this.#push({ kept: argsLength, render: () => entryOf(event, atMs) });
    else {
      // Hash at once any arguments beyond the buffer: no tool evades the audit with large arguments.
      const entry = entryOf(event, atMs);
      this.#push({ kept: 0, render: () => entry });
    }
  }

  #act(entry: AuditAct | AuditSnippet): void {
    this.#push({ kept: 0, render: () => entry });
  }

  #push(entry: Waiting): void {
    if (this.#isFull) return this.#drop(1);
    this.#kept += entry.kept;
    this.#waiting.push(entry);
    this.#writing ??= this.#write();
  }

  get #isFull(): boolean {
    return this.#isClosed || this.#waiting.length >= WAITING_MAX;
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

  /** Removes the next batch. For a file, an entry that counts the drops so far is queued before any later entry. */
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
        // An async function is not awaited, but its failure counts as a drop.
        Promise.resolve(this.#take(render() as AuditRecord)).catch(() => this.#drop(1));
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
    this.#reporting ??= setTimeout(() => this.#report(), TELL_MS).unref();
  }

  #report(): void {
    clearTimeout(this.#reporting);
    this.#reporting = undefined;
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

function snippetOf(act: AuditSnippet["act"], { name, tenant, key }: SnippetEvent): AuditSnippet {
  return { time: new Date().toISOString(), act, name, tenant, key };
}

function actOf(act: AuditAct["act"], { id, callId, tool, tenant, key }: CancelEvent): AuditAct {
  return { time: new Date().toISOString(), act, id, callId, tool, tenant: clip(tenant), key };
}

/** Names from callers and executors may have any length. */
function clip(name: string): string {
  return name.slice(0, NAME_MAX);
}

function decisionOf({ outcome, rules }: CapabilityEvent): AuditDecision {
  if (outcome === "denied" || outcome === "limit") return outcome;
  return rules.length > 0 ? "granted" : "none";
}
