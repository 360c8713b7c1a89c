import type { ChildReply } from "./capability-call.ts";
import {
  type CapabilityCallMessage,
  LINES_PER_MESSAGE_MAX,
  type ToBroker,
  type ToHost,
  type ToWorker,
} from "./messages.ts";

/**
 * Messages as lines of text: a character for the kind, then fields separated by tabs, the longest last. Every free
 * string is JSON text, which contains no raw tab or line feed. Both sides treat a line as hostile.
 */

/**
 * A line that is not a valid message. The other side is broken or hostile: its process must not be trusted any more.
 */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

const TAB = "\t";

export function encodeToWorker(message: ToWorker): string {
  switch (message.kind) {
    case "run":
      return (
        `r\t${message.runs}\t${message.key}\t${message.cpuMs}\t${message.outputBytes}\t${message.logBytes}\t` +
        `${message.capabilityCalls}\t${message.capabilityBytes}\t${message.stream ? 1 : 0}\t` +
        `${message.ownIsolate ? 1 : 0}\t${message.asksHost ? 1 : 0}\t${message.tellsTurns ? 1 : 0}\t${message.hasLongIntegers ? 1 : 0}\t${message.attempt}\t` +
        `${message.plan}\t${message.tickets}\t${JSON.stringify(message.tenant)}\t${message.calls}\n`
      );
    case "settle":
      return (
        `s\t${message.callNumber}\t${message.attempt}\t${message.step}\t${message.ok ? 1 : 0}\t${message.nowMs}\t` +
        `${message.payload}\n`
      );
    case "load":
      return `l\t${JSON.stringify(message.script)}\n`;
    case "unload":
      return `u\t${JSON.stringify(message.key)}\n`;
    case "cancel":
      return `c\t${message.callNumber}\n`;
    case "watch":
      return `w\t${message.callNumber}\n`;
    case "inspect":
      return `i\t${message.callNumber}\t${message.cpuMs}\t${JSON.stringify(message.script)}\n`;
  }
}

/** Reads a line that the host sent. Throws `ProtocolError`. */
export function decodeToWorker(line: string): ToWorker {
  const fields = new Fields(line);
  const kind = fields.text();
  switch (kind) {
    case "r": {
      const runs = fields.text();
      return {
        kind: "run",
        callNumber: Number.parseInt(runs, 10),
        runs,
        key: fields.text(),
        cpuMs: fields.number(),
        outputBytes: fields.number(),
        logBytes: fields.number(),
        capabilityCalls: fields.number(),
        capabilityBytes: fields.number(),
        stream: fields.flag(),
        ownIsolate: fields.flag(),
        asksHost: fields.flag(),
        tellsTurns: fields.flag(),
        hasLongIntegers: fields.flag(),
        attempt: fields.number(),
        plan: fields.text(),
        tickets: fields.text(),
        tenant: fields.string(),
        calls: fields.rest(),
      };
    }
    case "s":
      return {
        kind: "settle",
        callNumber: fields.number(),
        attempt: fields.number(),
        step: fields.number(),
        ok: fields.flag(),
        nowMs: fields.number(),
        payload: fields.rest(),
      };
    case "l":
      return { kind: "load", script: fields.json() };
    case "u":
      return { kind: "unload", key: fields.json() };
    case "c":
      return { kind: "cancel", callNumber: fields.number() };
    case "w":
      return { kind: "watch", callNumber: fields.number() };
    case "i":
      return { kind: "inspect", callNumber: fields.number(), cpuMs: fields.number(), script: fields.json() };
    default:
      throw new ProtocolError("a message of an unknown kind");
  }
}

export function encodeToHost(message: ToHost): string {
  switch (message.kind) {
    case "ran":
      return `e\t${message.callNumber}\t${message.cpuMs}\t${message.lastCpuMs}\t${message.heapBytes}\t${message.outcomes}\n`;
    case "cut":
      return `k\t${message.callNumber}\t${message.cpuMs}\n`;
    case "done":
      return (
        `d\t${message.callNumber}\t${message.ok ? 1 : 0}\t${message.cpuMs}\t${message.heapBytes}\t${message.dropped}\t` +
        `${message.deliveredCount}\t${message.asked ? 1 : 0}\t${message.turns}\t${message.logs}\t${message.payload}\n`
      );
    case "ask":
      return (
        `${message.reply === undefined ? "a" : `b\t${encodeReply(message.reply)}`}\t${message.callNumber}\t` +
        `${message.attempt}\t${message.step}\t${message.nowMs}\t${message.deliveredCount}\t` +
        `${JSON.stringify(message.capability)}\t${JSON.stringify(message.method)}\t${message.args}\n`
      );
    case "timed":
      return `m\t${message.callNumber}\t${message.attempt}\t${message.step}\t${message.nowMs}\n`;
    case "late":
      return `f\t${message.callNumber}\t${message.attempt}\t${message.fired}\t${message.nowMs}\n`;
    case "together":
      return `h\t${message.callNumber}\t${message.attempt}\t${message.at}\t${message.count}\n`;
    case "end":
      return `z\t${message.callNumber}\t${message.attempt}\t${message.deliveredCount}\n`;
    case "log":
      return `g\t${message.callNumber}\t${message.lines.join(TAB)}\n`;
    case "progress":
      return `p\t${message.callNumber}\t${message.payload}\n`;
    case "idle": {
      const { callNumber, attempt, asked, delivered, dueInMs, usedMs } = message;
      return `y\t${callNumber}\t${attempt}\t${asked}\t${delivered}\t${dueInMs}\t${usedMs}\n`;
    }
    case "lost":
      return `x\t${message.callNumber}\t${message.cpuMs}\t${message.payload}\n`;
    case "inspected":
      return `n\t${message.callNumber}\t${message.payload}\n`;
    case "stats":
      return `t\t${message.payload}\n`;
  }
}

function encodeReply(reply: ChildReply): string {
  const { callId, output, startMs, wallMs, cpuMs, heapBytes, logs, dropped, answeredMs } = reply;
  const numbers = `${startMs}\t${wallMs}\t${cpuMs}\t${heapBytes}\t${dropped}\t${answeredMs}`;
  return `${JSON.stringify(callId)}\t${numbers}\t${logs}\t${output}`;
}

function readReply(fields: Fields): ChildReply {
  return {
    callId: fields.string(),
    startMs: fields.number(),
    wallMs: fields.number(),
    cpuMs: fields.number(),
    heapBytes: fields.number(),
    dropped: fields.number(),
    answeredMs: fields.number(),
    logs: fields.text(),
    output: fields.text(),
  };
}

/** Reads a line that a worker sent. Throws `ProtocolError`. */
export function decodeToHost(line: string): ToHost {
  const fields = new Fields(line);
  const kind = fields.text();
  switch (kind) {
    case "e":
      return {
        kind: "ran",
        callNumber: fields.number(),
        cpuMs: fields.number(),
        lastCpuMs: fields.number(),
        heapBytes: fields.number(),
        outcomes: fields.rest(),
      };
    case "k":
      return { kind: "cut", callNumber: fields.number(), cpuMs: fields.number() };
    case "d":
      return {
        kind: "done",
        callNumber: fields.number(),
        ok: fields.flag(),
        cpuMs: fields.number(),
        heapBytes: fields.number(),
        dropped: fields.number(),
        deliveredCount: fields.number(),
        asked: fields.flag(),
        turns: fields.text(),
        logs: fields.text(),
        payload: fields.rest(),
      };
    case "g":
      return { kind: "log", callNumber: fields.number(), lines: linesIn(fields.rest()) };
    case "p":
      return { kind: "progress", callNumber: fields.number(), payload: fields.rest() };
    case "y":
      return {
        kind: "idle",
        callNumber: fields.number(),
        attempt: fields.number(),
        asked: fields.number(),
        delivered: fields.number(),
        dueInMs: fields.number(),
        usedMs: fields.number(),
      };
    case "x":
      return { kind: "lost", callNumber: fields.number(), cpuMs: fields.number(), payload: fields.rest() };
    case "n":
      return { kind: "inspected", callNumber: fields.number(), payload: fields.rest() };
    case "t":
      return { kind: "stats", payload: fields.rest() };
    case "b": {
      const reply = readReply(fields);
      return { ...readAsk(fields), reply };
    }
    default:
      return readToBroker(kind, fields);
  }
}

/** Reads a line that a worker sent to the broker. Throws `ProtocolError`. */
export function decodeToBroker(line: string): ToBroker {
  const fields = new Fields(line);
  return readToBroker(fields.text(), fields);
}

function readToBroker(kind: string, fields: Fields): ToBroker {
  switch (kind) {
    case "a":
      return readAsk(fields);
    case "m":
      return {
        kind: "timed",
        callNumber: fields.number(),
        attempt: fields.number(),
        step: fields.number(),
        nowMs: fields.number(),
      };
    case "f":
      return {
        kind: "late",
        callNumber: fields.number(),
        attempt: fields.number(),
        fired: fields.number(),
        nowMs: fields.number(),
      };
    case "h":
      return {
        kind: "together",
        callNumber: fields.number(),
        attempt: fields.number(),
        at: fields.number(),
        count: fields.number(),
      };
    case "z":
      return {
        kind: "end",
        callNumber: fields.number(),
        attempt: fields.number(),
        deliveredCount: fields.number(),
      };
    default:
      throw new ProtocolError("a message of an unknown kind");
  }
}

function readAsk(fields: Fields): CapabilityCallMessage {
  return {
    kind: "ask",
    callNumber: fields.number(),
    attempt: fields.number(),
    step: fields.number(),
    nowMs: fields.number(),
    deliveredCount: fields.number(),
    capability: fields.string(),
    method: fields.string(),
    args: fields.rest(),
  };
}

function linesIn(text: string): readonly string[] {
  const lines = text.split(TAB, LINES_PER_MESSAGE_MAX + 1);
  if (lines.length > LINES_PER_MESSAGE_MAX) throw new ProtocolError("a message with too many log lines");
  return lines;
}

/** Number of fields before a call's outcomes, or its output. */
const FIELDS_BEFORE: ReadonlyMap<string, number> = new Map([
  ["e", 5],
  ["d", 10],
]);

/** Reads a line that a worker sent in parts. A call's output stays in parts: to join them would copy it. */
export function decodeParts(parts: readonly string[]): ToHost {
  return outputIn(parts) ?? decodeToHost(parts.join(""));
}

/** A message with one call's output; `null` for others, and if the fields before it are not all in the first part. */
function outputIn([first = "", ...others]: readonly string[]): ToHost | null {
  const start = afterFields(first, FIELDS_BEFORE.get(first.charAt(0)) ?? 0);
  if (start === 0) return null;
  const fields = first.slice(0, start);
  const parts = [first.slice(start), ...others];
  if (first.startsWith("d")) {
    const message = decodeToHost(fields);
    return message.kind === "done" && message.ok ? { ...message, parts } : null;
  }
  const [outcome = ""] = parts;
  const last = parts.pop();
  if (!outcome.startsWith("+") || last === undefined || !last.endsWith(TAB)) return null;
  parts.push(last.slice(0, -1));
  parts[0] = (parts[0] ?? "").slice(1);
  if (parts.some((part) => part.includes(TAB))) return null;
  const message = decodeToHost(`${fields}+${TAB}`);
  return message.kind === "ran" ? { ...message, parts } : null;
}

/** Index after a number of fields of a line; 0 if there are fewer. */
function afterFields(line: string, count: number): number {
  let at = 0;
  for (let field = 0; field < count; field++) {
    at = line.indexOf(TAB, at) + 1;
    if (at === 0) return 0;
  }
  return at;
}

/** A cursor over the fields of one line. */
class Fields {
  readonly #line: string;
  #at = 0;

  constructor(line: string) {
    this.#line = line;
  }

  text(): string {
    const end = this.#line.indexOf(TAB, this.#at);
    if (end < 0) throw new ProtocolError("a message that ends too early");
    const field = this.#line.slice(this.#at, end);
    this.#at = end + 1;
    return field;
  }

  rest(): string {
    const field = this.#line.slice(this.#at);
    this.#at = this.#line.length;
    return field;
  }

  number(): number {
    const end = this.#line.indexOf(TAB, this.#at);
    const field = end < 0 ? this.rest() : this.#line.slice(this.#at, end);
    if (end >= 0) this.#at = end + 1;
    const value = field === "" ? Number.NaN : Number(field);
    if (!Number.isFinite(value)) throw new ProtocolError("a message with an invalid number");
    return value;
  }

  flag(): boolean {
    return this.text() === "1";
  }

  string(): string {
    const value = parse(this.text());
    if (typeof value !== "string") throw new ProtocolError("a message with an invalid string");
    return value;
  }

  /** The rest of the line as JSON. Only the host writes such fields, so their shape is not checked. */
  json<T>(): T {
    return parse(this.rest()) as T;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProtocolError("a message with a field that is not JSON");
  }
}

/** The end of each outcome in a message. */
export const OUTCOME_END = TAB;

/** Number of outcomes of a message: each ends with a tab. */
export function countOutcomes(outcomes: string, countMax: number): number {
  let count = 0;
  for (let at = outcomes.indexOf(OUTCOME_END); at >= 0; at = outcomes.indexOf(OUTCOME_END, at + 1)) count++;
  if (count > countMax) throw new ProtocolError("outcomes of calls that were not sent");
  return count;
}
