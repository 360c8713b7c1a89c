import { type Failure, isErrorCode } from "../../kernel/base/errors.ts";
import type { CallReply } from "../../kernel/executor/executor.ts";
import { isLine, isObject } from "../../kernel/base/json.ts";
import type { CapabilityResponse, Diverged } from "../../kernel/base/protocol/capability-call.ts";
import type { ReplayPlan } from "../../kernel/base/protocol/messages.ts";
import { hasViolations } from "../../kernel/base/protocol/payload.ts";
import { ProtocolError } from "../../kernel/base/protocol/wire.ts";
import {
  briefly,
  type Fields,
  isCount,
  isKey,
  isListOf,
  isMember,
  isShort,
  isStart,
  isText,
  isTime,
  readText,
} from "./fields.ts";
import type { Envelope, MachineMessage, Resumption, ServerMessage } from "./messages.ts";
import { isTextRef } from "../texts/packing.ts";

/**
 * Readers of a fleet's messages. Every field is checked before use: a process that can write to Redis, or a broken or
 * differently versioned peer, must not crash this process. The checks are by hand, because each call passes here twice.
 */

/** An envelope; its messages are read one by one. Throws a `ProtocolError`. */
export function readEnvelope(text: string, protocols: readonly number[]): Envelope<unknown> {
  const envelope = readText(text, "an envelope");
  if (!isObject(envelope)) throw new ProtocolError("an invalid envelope");
  const { v, from, seq, messages } = envelope;
  if (!isCount(v) || !protocols.includes(v)) {
    throw new ProtocolError(`an envelope of protocol ${briefly(v)}; this member understands ${protocols.join(", ")}`);
  }
  if (!isMember(from) || !isCount(seq) || !Array.isArray(messages)) throw new ProtocolError("an invalid envelope");
  return { v, from, seq, messages };
}

/** A message of a machine. Throws a `ProtocolError`. */
export function readMachineMessage(message: unknown): MachineMessage {
  if (isObject(message) && isMachineMessage(message)) return message;
  throw new ProtocolError("an invalid message of a worker machine");
}

/** A message of a server. Throws a `ProtocolError`. */
export function readServerMessage(message: unknown): ServerMessage {
  if (isObject(message) && isServerMessage(message)) return message;
  throw new ProtocolError("an invalid message of a server");
}

/** The response to a capability call, or the reason for the call's end. Throws a `ProtocolError`. */
export function readAnswer(text: string): CapabilityResponse | Diverged {
  const answer = readText(text, "an answer");
  if (isObject(answer) && isAnswer(answer)) return answer;
  throw new ProtocolError("an invalid capability response");
}

const NO_PLAN: ReplayPlan = { asked: 0, responses: [], late: [], together: [] };

/** Reads the plan of a resumption. Throws a `ProtocolError`. */
export function readPlan(text: string): ReplayPlan {
  if (text === "") return NO_PLAN;
  const plan = readText(text, "a plan");
  if (isObject(plan) && isPlanned(plan)) return plan;
  throw new ProtocolError("an invalid replay plan");
}

/** The lines of a reply's `logs`, each as `log` carries it. Throws a `ProtocolError`. */
export function readLines(logs: string): readonly string[] {
  const lines = logs === "" ? [] : readText(logs, "a log");
  if (Array.isArray(lines) && lines.every(isLogLine)) return lines.map((line) => JSON.stringify(line));
  throw new ProtocolError("an invalid log");
}

function isMachineMessage(message: Fields): message is Fields & MachineMessage {
  if (message["kind"] === "taken") return isShort(message["job"]) && isStart(message["start"]);
  if (message["kind"] === "need") {
    const { script, what, publicKey } = message;
    return isKey(script) && (what === "text" || what === "config") && isShort(publicKey);
  }
  if (!isCount(message["callNumber"]) || !isStart(message["start"])) return false;
  switch (message["kind"]) {
    case "ask": {
      const { job, step, attempt, nowMs, deliveredCount, capability, method, args } = message;
      const isPlaced = isStart(step) && isStart(attempt) && isTime(nowMs) && isOptional(deliveredCount, isCount);
      return isShort(job) && isPlaced && isText(capability) && isText(method) && isText(args);
    }
    case "log": {
      const { at, lines, isFull } = message;
      const isMarked = isFull === undefined || isFull === true;
      return isCount(at) && Array.isArray(lines) && lines.every(isText) && isMarked;
    }
    case "progress":
      return isText(message["payload"]);
    case "timed":
      return isStart(message["step"]) && isTime(message["nowMs"]);
    case "late":
      return isStart(message["fired"]) && isTime(message["nowMs"]);
    case "together":
      return isCount(message["at"]) && isStart(message["count"]);
    case "restart":
      return isCount(message["attempts"]);
    case "idle": {
      const { asked, delivered, dueInMs, usedMs = 0 } = message;
      const areCounts = isCount(asked) && isCount(delivered);
      return areCounts && (dueInMs === null || isTime(dueInMs)) && isTime(usedMs);
    }
    case "done":
      return isDone(message);
    case "spent":
      return isTime(message["cpuMs"]);
    default:
      return false;
  }
}

function isDone({ reply, refusedForMs, isWorking }: Fields): boolean {
  const isMarked = isWorking === undefined || isWorking === true;
  return isObject(reply) && isReply(reply) && isOptional(refusedForMs, isTime) && isMarked;
}

/** An invalid failure still ends its call: `isFailure` checks it later. */
function isReply(reply: Fields): reply is Fields & CallReply {
  const { outcome, cpuMs, waitedMs, wallMs, heapBytes, attempts, logs, dropped, deliveredCount, turns } = reply;
  const isUsed = isTime(cpuMs) && isTime(waitedMs) && isTime(wallMs) && isTime(heapBytes);
  const isCounted = isCount(attempts) && isCount(dropped) && isOptional(deliveredCount, isCount);
  if (!isUsed || !isCounted || !isText(logs) || !isOptional(turns, isText) || !isObject(outcome)) return false;
  return outcome["ok"] === true ? isText(outcome["json"]) : outcome["ok"] === false && isObject(outcome["failure"]);
}

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value);
}

function isServerMessage(message: Fields): message is Fields & ServerMessage {
  switch (message["kind"]) {
    case "answer": {
      const { callNumber, step, attempt, answer } = message;
      return isCount(callNumber) && isStart(step) && isStart(attempt) && isText(answer);
    }
    case "cancel":
    case "watch":
    case "logged":
      return isCount(message["callNumber"]) && isShort(message["job"]) && isStart(message["start"]);
    case "resume":
      return isShort(message["job"]) && isStart(message["start"]) && isListOf(message["calls"], isResumption);
    case "have": {
      const { script, text, checks, config } = message;
      return (
        isKey(script) && isOptional(text, isTextRef) && isOptional(checks, isTextRef) && isOptional(config, isText)
      );
    }
    default:
      return false;
  }
}

function isResumption(call: Fields): call is Fields & Resumption {
  return isCount(call["callNumber"]) && isCount(call["attempts"]) && isCount(call["asked"]) && isPlan(call["plan"]);
}

function isPlan(plan: unknown): boolean {
  try {
    return isText(plan) && readPlan(plan).responses.length >= 0;
  } catch {
    return false;
  }
}

function isAnswer(answer: Fields): answer is Fields & (CapabilityResponse | Diverged) {
  switch (answer["kind"]) {
    case "value":
      return isTime(answer["nowMs"]) && isLine(answer["json"]);
    case "failure":
      return isTime(answer["nowMs"]) && isObject(answer["failure"]) && isFailure(answer["failure"]);
    case "diverged":
      return isText(answer["message"]);
    default:
      return false;
  }
}

/** Whether this is a valid failure of a call. */
export function isFailure(failure: Partial<Record<keyof Failure, unknown>>): boolean {
  const { code, message, type, stack } = failure;
  const isNamed = (type === undefined || isText(type)) && (stack === undefined || isText(stack));
  return isErrorCode(code) && isText(message) && isNamed && hasViolations(failure);
}

function isLogLine(line: unknown): boolean {
  return Array.isArray(line) && line.length === 2 && line.every(isText);
}

function isPlanned(plan: Fields): plan is Fields & ReplayPlan {
  const { asked, responses, late, together } = plan;
  const isTimed = [responses, late].every((times) => Array.isArray(times) && times.every(isCountedTime));
  return isCount(asked) && isTimed && Array.isArray(together) && together.every(isSharedTurn);
}

function isSharedTurn(turn: unknown): boolean {
  return Array.isArray(turn) && turn.length === 2 && turn.every(isCount);
}

function isCountedTime(pair: unknown): boolean {
  return Array.isArray(pair) && pair.length === 2 && isCount(pair[0]) && isTime(pair[1]);
}
