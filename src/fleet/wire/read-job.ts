import { describeExcess, isLine, isObject } from "../../kernel/base/json.ts";
import { type Isolation, isPluggedName } from "../../kernel/base/protocol/script.ts";
import { ProtocolError } from "../../kernel/base/protocol/wire.ts";
import {
  briefly,
  type Fields,
  isAmount,
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
import type { FleetCallData, FleetLimits, FleetScript, JobData } from "./messages.ts";
import { isTextRef } from "../texts/packing.ts";

const SEED = /^[0-9a-f]{1,128}$/i;
/**
 * Maximum heap of an isolate that a machine accepts, in MiB: V8 would accept a larger one and fail only when it fills.
 */
const MEMORY_MAX_MB = 1_048_576;
const ISOLATIONS: ReadonlySet<unknown> = new Set(["instance", "context", "isolate", "shared"]);

/** Reads a job's data. Throws a `ProtocolError` with a message for an operator. */
export function readJobData(text: string, protocols: readonly number[]): JobData {
  const data = readText(text, "a job");
  if (!isObject(data)) throw new ProtocolError("an invalid job");
  const { v } = data;
  if (!isCount(v) || !protocols.includes(v)) {
    throw new ProtocolError(`it speaks protocol ${briefly(v)}; this machine understands ${protocols.join(", ")}`);
  }
  if (!isMember(data["server"])) throw new ProtocolError("its server is missing or invalid");
  if (!isJobData(data)) throw new ProtocolError("its calls are invalid");
  return data;
}

function isJobData(data: Fields): data is Fields & JobData {
  const { scripts, limits, calls, isInspection, isAgain } = data;
  if (!isListOf(scripts, isScript) || !isListOf(limits, isLimits) || !isListOf(calls, isCall)) return false;
  // Two calls with the same number would be indistinguishable.
  if (new Set(calls.map(({ callNumber }) => callNumber)).size < calls.length) return false;
  const areThere = calls.every((call) => call.script < scripts.length && call.limits < limits.length);
  return areThere && [isInspection, isAgain].every((flag) => flag === undefined || typeof flag === "boolean");
}

/** Whether a value names an isolation level. */
export function isIsolation(value: unknown): value is Isolation {
  return ISOLATIONS.has(value);
}

function isScript(script: Fields): script is Fields & FleetScript {
  const { key, name, version, runtime, isolation, memoryMb, contract, text, checks, hasConfig } = script;
  const { registrant, digest } = script;
  const isNamed = isKey(key) && isText(name) && isText(version) && isTextRef(text);
  const isOwned = [registrant, digest].every((each) => each === undefined || isText(each));
  const isKnown = isPluggedName(runtime) && isIsolation(isolation);
  const isContract = contract === null || isPluggedName(contract);
  const isSized = isStart(memoryMb) && memoryMb <= MEMORY_MAX_MB;
  const areChecks = checks === null || isTextRef(checks);
  return isNamed && isOwned && isKnown && isContract && isSized && areChecks && typeof hasConfig === "boolean";
}

function isLimits(limits: Fields): limits is Fields & FleetLimits {
  const { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes, wallMs, queueMs } = limits;
  return [cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes, wallMs, queueMs].every(isAmount);
}

function isCall(call: Fields): call is Fields & FleetCallData {
  const { callNumber, script, limits, tenant, callId, args, command, seed, nowMs, stream, claim } = call;
  const isPlaced =
    isCount(callNumber) && isCount(script) && isCount(limits) && isTime(nowMs) && typeof stream === "boolean";
  const isNamed = isText(tenant) && isText(callId) && (command === undefined || isText(command));
  if (claim !== undefined && !(isObject(claim) && isLedgerClaim(claim))) return false;
  return isPlaced && isNamed && typeof seed === "string" && SEED.test(seed) && isArgs(args);
}

function isLedgerClaim({ digest, holder, tool }: Fields): boolean {
  return isShort(digest) && isShort(holder) && isText(tool);
}

/** Whether arguments are exactly one JSON value: calls of one batch are concatenated on their way into the isolate. */
function isArgs(args: unknown): args is string {
  if (!isLine(args) || describeExcess(args) !== null) return false;
  try {
    JSON.parse(args);
    return true;
  } catch {
    return false;
  }
}
