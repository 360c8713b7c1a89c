import { hash } from "node:crypto";
import type { Limits } from "../../base/limits.ts";
import { NO_CONFIG } from "../../base/protocol/script.ts";
import type { CapabilityRequest } from "../../broker/capabilities/capability.ts";
import type { RecordedJournal } from "../../base/protocol/recorded-journal.ts";
import type { MadeCall, PausedCall } from "../../store/calls/durable/durable-call.ts";
import type { EndedCall } from "../../store/calls/durable/durable-step.ts";
import { undoneId } from "../../store/calls/durable/undone-calls.ts";
import type { RegisteredTool, RunningProgram } from "../../tool/registered-tool.ts";
import type { EngineCall } from "../call/engine-call.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import { type Recording, toRecordedTool } from "../replay/recording.ts";

/**
 * Format of a durable call's record, and of the replay of a journal in an isolate: its number is raised if a run that
 * continues from a journal would differ. `fixtures/journals` has calls of earlier versions, which prove that it does
 * not.
 */
const FORMAT = "glovebox-durable/1";

/** Options of a call that apply to all of its runs. */
const KEPT_OPTIONS = ["tenant", "priority", "limits", "maxLimits", "tools", "capabilities", "origin", "undo"] as const;
type KeptOptions = Pick<ExecuteOptions, (typeof KEPT_OPTIONS)[number]>;

/** The parts of a durable call that no run changes: written once. */
export interface DurableRecord {
  readonly format: typeof FORMAT;
  readonly callId: string;
  /** Id of the calling call in its result's metadata. Records of earlier versions do not have it. */
  readonly parentCallId?: string;
  readonly args: string;
  readonly command: string | null;
  readonly limits: Limits;
  readonly options: KeptOptions;
  readonly tool: {
    readonly name: string;
    readonly digest: string;
    readonly configHash: string;
    readonly capabilities: CapabilityRequest;
    /** Of a snippet: names of the tools that it may call. */
    readonly snippet?: readonly string[];
  };
  /** Whether its tool runs a program, which is in the arguments. */
  readonly isProgram: boolean;
  /** Whether a program has called it, whose code is the caller's: absent in records of earlier versions. */
  readonly isOfProgram?: true;
}

/** The runs of a durable call so far, besides their journal: written with it. */
export interface DurableRuns {
  /** The first run's clock and seed; `null` before that. */
  readonly run: { readonly startMs: number; readonly seed: string } | null;
  readonly program: ReturnType<RunningProgram["kept"]> | null;
  /** Processor time of all runs so far, in milliseconds; absent if stored by an earlier version. */
  readonly cpuMs?: number;
}

const NO_RUNS: DurableRuns = { run: null, program: null };
const NO_JOURNAL: RecordedJournal = { asks: [], answers: [] };
/** Stored data of a call that has not run. */
export function unrun({ tool }: Pick<EngineCall, "tool">): Pick<PausedCall, "runs" | "plan" | "journal"> {
  const runs: DurableRuns = { ...NO_RUNS, program: tool.program?.kept() ?? null };
  return { runs: JSON.stringify(runs), plan: "", journal: JSON.stringify(NO_JOURNAL) };
}

/** The tool of a durable call at its start, without its config. */
export type PinnedTool = Recording["tool"];

export function madeOf(call: EngineCall, nowMs: number, expiresMs: number): MadeCall {
  const { callId, parentCallId, tool, tenant, args, command, limits, options } = call;
  const kept: KeptOptions = Object.fromEntries(
    KEPT_OPTIONS.flatMap((option) => (options[option] === undefined ? [] : [[option, options[option]]])),
  );
  const { name, digest } = tool.info;
  const { capabilities, snippet } = tool;
  const isProgram = tool.own !== undefined && snippet === undefined;
  const above = call.parent?.waits ?? null;
  const record: DurableRecord = {
    format: FORMAT,
    callId,
    ...(parentCallId === null ? {} : { parentCallId }),
    args,
    command: command ?? null,
    limits,
    options: kept,
    tool: { name, digest, configHash: configHashOf(tool), capabilities, ...(snippet === undefined ? {} : { snippet }) },
    isProgram,
    ...(call.parent?.tool.own === undefined ? {} : { isOfProgram: true }),
  };
  return {
    callId,
    tool: name,
    tenant,
    key: options.origin?.key ?? null,
    parent: above === null ? null : { id: above.id, step: call.parentStep, leg: above.leg },
    createdMs: nowMs,
    expiresMs: nowMs + expiresMs,
    undoesOnFailure: options.undo === "onFailure",
    record: JSON.stringify(record),
    script: isProgram ? null : scriptOf(tool),
  };
}

/** Scripts in stored form, which may be long, shared by the calls of their tools. */
const scripts = new WeakMap<RegisteredTool, NonNullable<MadeCall["script"]>>();

export function scriptOf(tool: RegisteredTool): NonNullable<MadeCall["script"]> {
  let script = scripts.get(tool);
  if (script === undefined) {
    const text = JSON.stringify({ ...toRecordedTool(tool), config: NO_CONFIG });
    // A call cannot continue with another config either.
    const config = tool.script.config === NO_CONFIG ? "" : configHashOf(tool);
    scripts.set(tool, (script = { hash: hash("sha256", text + config), text }));
  }
  return script;
}

export function configHashOf({ script }: Pick<RegisteredTool, "script">): string {
  return hash("sha256", script.config);
}

/** Reads the stored runs of a call; one that the store has made has not run yet. */
export function readRuns(text: string): DurableRuns {
  return text === "" ? NO_RUNS : (JSON.parse(text) as DurableRuns);
}

/** Throws an error if a record is of a later version, or damaged. */
export function readRecord(text: string): DurableRecord {
  const record = JSON.parse(text) as DurableRecord;
  if (record.format === FORMAT) return record;
  throw new TypeError("the record of the call is of another version");
}

/** The text of a call's program, by its record; `null` for another call, and if its record is not available. */
export function programOf(record: string): string | null {
  try {
    const { isProgram, args } = readRecord(record);
    const { code } = JSON.parse(args) as { readonly code?: unknown };
    return isProgram && typeof code === "string" ? code : null;
  } catch {
    return null;
  }
}

/** Options and parent of a call that ended without a run, as far as its record can be read. */
export function toldOf({ id, tenant, key, record }: Pick<EndedCall, "id" | "tenant" | "key" | "record">): {
  readonly options: Pick<ExecuteOptions, "tenant" | "origin">;
  readonly parentCallId: string | null;
} {
  try {
    const { options, parentCallId = null } = readRecord(record);
    // A call that undoes another has the record of that.
    return { options, parentCallId: undoneId(id) === null ? parentCallId : null };
  } catch {
    return { options: { tenant, origin: { surface: "library", key } }, parentCallId: null };
  }
}

/** Identifies the shown content: another version of the tool, or other arguments, have another digest. `args`: JSON. */
export function digestOf(id: string, step: number, tool: RegisteredTool | null, args: string): string {
  return hash("sha256", JSON.stringify([id, step, tool?.info.name, tool?.info.digest, args]));
}
