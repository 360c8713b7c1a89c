import { parseWithDigits } from "../base/exact-json.ts";
import { isObject } from "../base/json.ts";
import type { CapabilityCall } from "../base/protocol/capability-call.ts";
import type { StoredAsk } from "../store/calls/call-record.ts";
import { type CapabilityDetails, type CapabilityOutcome, methodName } from "./capability-event.ts";
import { ruleAt } from "./policy.ts";

/** Logging of a call's capability calls, for its record. */
export interface AskLogging {
  /** When the call was accepted, in milliseconds since the epoch. */
  readonly beginMs: number;
  /** Whether values may be kept: targets of its capability calls, and its journal. */
  readonly hasValues: boolean;
}

/** Capability calls of one call that are logged; later ones are counted. */
const ASKS_MAX = 200;
/** Length of arguments beyond which no target is read from them, in UTF-16 units. */
const PARSED_MAX = 4_096;
const TARGET_MAX = 256;
const METHOD_MAX = 64;
/** Arguments that name the subject of a capability call; the first one present counts. */
const TARGETS = ["url", "target", "tool", "path", "key", "name", "command", "prefix"] as const;

/** The capability calls of one call as its record has them. Continuations count with the call that they continue. */
export class AskLog {
  readonly #logging: AskLogging;
  readonly #asks: StoredAsk[] = [];
  #omitted = 0;

  constructor(logging: AskLogging) {
    this.#logging = logging;
  }

  get hasValues(): boolean {
    return this.#logging.hasValues;
  }

  add(call: CapabilityCall, outcome: CapabilityOutcome, details: CapabilityDetails): void {
    const { step, args, capability } = call;
    const { isContinuation = false, answerLength = 0, durationMs = 0, rules = [], code = null } = details;
    const bytes = args.length + answerLength;
    const method = methodName(call.method);
    const at = Date.now() - this.#logging.beginMs;
    if (isContinuation && (outcome === "ok" || outcome === "replayed")) return this.#continue(capability, at, bytes);
    if (this.#asks.length >= ASKS_MAX) return void this.#omitted++;
    const [rule] = rules;
    this.#asks.push({
      step,
      capability: capability.slice(0, TARGET_MAX),
      method: method.slice(0, TARGET_MAX),
      ...subjectOf(capability, this.#logging.hasValues ? args : ""),
      outcome: outcome === "replayed" ? "ok" : outcome === "diverged" ? "failed" : outcome,
      code,
      rule: rule === undefined ? null : ruleAt(rule),
      atMs: round(Math.max(0, at - durationMs)),
      durationMs: round(durationMs),
      bytes,
      // Attempts whose capability calls come by a worker's pipe have negative numbers.
      attempt: Math.abs(call.attempt),
      isReplayed: outcome === "replayed",
    });
  }

  /** JSON: `{ asks, asksOmitted }`, in the order of the calls. A repeated one has the outcome of its first run. */
  text(): string {
    const made = new Map(this.#asks.flatMap((ask) => (ask.isReplayed ? [] : [[ask.step, ask] as const])));
    const asks = this.#asks.map((ask) => {
      const { outcome, code } = made.get(ask.step) ?? ask;
      return { ...ask, outcome, code };
    });
    return JSON.stringify({ asks: asks.sort((a, b) => a.atMs - b.atMs), asksOmitted: this.#omitted });
  }

  #continue(capability: string, at: number, bytes: number): void {
    const index = this.#asks.findLastIndex((ask) => ask.capability === capability);
    const ask = this.#asks[index];
    if (ask === undefined || ask.isReplayed) return;
    const durationMs = round(Math.max(ask.durationMs, at - ask.atMs));
    this.#asks[index] = { ...ask, bytes: ask.bytes + bytes, durationMs };
  }
}

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** The subject of a capability call, without the query of an address. `args`: JSON, or empty if they are not known. */
export function subjectOf(capability: string, args: string): Pick<StoredAsk, "target" | "httpMethod"> {
  const parsed = args.length > PARSED_MAX ? null : parsedOf(args);
  const name = isObject(parsed) ? TARGETS.find((each) => typeof parsed[each] === "string") : undefined;
  if (!isObject(parsed) || name === undefined) return { target: null, httpMethod: null };
  const text = String(parsed[name]);
  const { method } = parsed;
  return {
    target: (name === "url" || name === "target" ? placeOf(text) : text).slice(0, TARGET_MAX),
    httpMethod: capability === "fetch" && typeof method === "string" ? method.slice(0, METHOD_MAX).toUpperCase() : null,
  };
}

/** An address without its query. */
function placeOf(address: string): string {
  const { origin = "", pathname = address } = URL.parse(address) ?? {};
  return origin + pathname.replace(/[?#].*$/s, "");
}

function parsedOf(json: string): unknown {
  try {
    return parseWithDigits(json);
  } catch {
    return null;
  }
}
