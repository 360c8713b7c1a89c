import type { ToolError } from "../../base/errors.ts";
import { isObject, memberOf } from "../../base/json.ts";
import type { ToolResult } from "../../base/result.ts";
import type { Grants } from "../../broker/grants.ts";
import type { CallReply } from "../../executor/executor.ts";
import { type DetailPart, type DetailTexts, type GivenTurns, PART_MAX } from "../../store/calls/call-record.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { Explanation } from "../explanation.ts";
import { OUTSIDE, runOf } from "../replay/recording.ts";
import type { EngineCall } from "./engine-call.ts";
import { passwordSchemas } from "./password-schemas.ts";
import { type RedactValue, redactDetail } from "./redact-detail.ts";

/** Length of an answer beyond which the details of its error are not written: they may be as long. */
const ANSWER_MAX = 64 * 1024;
/** Maximum tenants of a tool whose explanation is remembered. */
const EXPLAINED_MAX = 100;
/** Explanations written in a second, on the main thread and charged to no tenant; further calls are kept without. */
const EXPLAINED_RATE = 100;
const EXPLANATION_MAX = 64 * 1024;
/** More than the length of a worker's report of turns. */
const TURNS_LENGTH = 8 * 1024;

export interface DetailOptions {
  readonly redact: RedactValue | undefined;
  /** Grants and limits of a tool's calls for a tenant, under a policy. */
  readonly explain: (tool: RegisteredTool, tenant: string, grants: Grants | undefined) => Explanation;
  /** Secret from which the randomness of calls is derived. */
  readonly entropyKey: string;
}

/** Facts of a call that are known at its end. */
interface EndFacts {
  readonly output: string | null;
  readonly error: ToolError | null;
  readonly reply: CallReply | null;
  /** Whether the broker's part, capability calls and journal, comes with it. */
  readonly isTaken: boolean;
}

interface Explained {
  readonly grants: Grants | undefined;
  readonly text: string;
}

/** Writes the details of ended calls for the store. Parts that many calls of a tool share are written once. */
export class DetailWriter {
  readonly #options: DetailOptions;
  readonly #explained = new WeakMap<RegisteredTool, Map<string, Explained>>();
  #second = 0;
  #written = 0;

  constructor(options: DetailOptions) {
    this.#options = options;
  }

  /** Whether values of the tool's calls are kept as they are: none of them may be a password. */
  mayShow(tool: RegisteredTool): boolean {
    return this.#options.redact === undefined && passwordSchemas(tool) === null;
  }

  /** `null` if it cannot be written: the call has its result all the same. */
  write(call: EngineCall, end: EndFacts): DetailTexts | null {
    try {
      return this.#write(call, end);
    } catch {
      // An error that a tool has made, or the result of `redact`, is no JSON.
      return null;
    }
  }

  /** The parts of a detail by which a replay is compared. */
  writeEnd(tool: RegisteredTool, result: ToolResult, { outcome, logs }: CallReply): DetailTexts {
    const output = outcome.ok ? outcome.json : null;
    const error = this.describe(result, tool, output);
    return {
      arguments: null,
      output: output !== null && output.length > PART_MAX ? null : output,
      outputAt: tool.outputAt,
      error: error === null ? null : JSON.stringify(error),
      logs: logs.length > PART_MAX ? "" : logs,
      told: null,
      turns: { beginMs: 0, startsMs: [], cpuMs: 0, told: "" },
      explanation: null,
      run: null,
      omitted: [],
      schemas: null,
    };
  }

  #write(call: EngineCall, { output, error, reply, isTaken }: EndFacts): DetailTexts {
    const { tool, args } = call;
    const omitted: DetailPart[] = isTaken ? [] : ["asks"];
    const part = (name: DetailPart, text: string | null, most = PART_MAX): string | null => {
      if (text === null || text.length <= most) return text;
      omitted.push(name);
      return null;
    };
    const explanation = this.#explanationOf(call);
    if (explanation === null) omitted.push("explanation");
    const detail: DetailTexts = {
      arguments: part("arguments", args),
      output: part("output", output),
      outputAt: tool.outputAt,
      error: part("error", error === null ? null : JSON.stringify(error)),
      logs: part("logs", reply?.logs ?? "") ?? "",
      told: null,
      turns: turnsOf(call, reply),
      explanation: part("explanation", explanation, EXPLANATION_MAX),
      run: isTaken ? this.#runOf(call, error, reply) : null,
      omitted,
      schemas: passwordSchemas(tool),
    };
    const { redact } = this.#options;
    return redact === undefined ? detail : redactDetail(detail, tool.info.name, redact);
  }

  /** Inputs of a replay besides the journal; `null` if the kept parts do not determine the call. */
  #runOf(call: EngineCall, error: ToolError | null, reply: CallReply | null): string | null {
    const { tool, command } = call;
    const isOutside = error !== null && OUTSIDE.has(error.code);
    // The tool of a program is not registered.
    if (reply === null || isOutside || tool.own !== undefined || tool.script.isolation === "shared") return null;
    if (!this.mayShow(tool)) return null;
    return JSON.stringify({ command: command ?? null, ...runOf(call, this.#options.entropyKey) });
  }

  /**
   * An error without possible passwords: a violation quotes the value. The details of an error that the tool has
   * returned have any length.
   */
  describe({ error }: ToolResult, tool: RegisteredTool, output: string | null): ToolError | null {
    if (error === null) return null;
    const { details, ...rest } = error;
    if (details === undefined) return error;
    const violations = memberOf(details, "violations");
    if (Array.isArray(violations) && passwordSchemas(tool) !== null) {
      const unquoted = violations.filter(isObject).map(({ pointer, keyword }) => ({ pointer, keyword }));
      const places = unquoted.map(({ pointer }) => (typeof pointer === "string" && pointer) || "the value").join(", ");
      return {
        ...rest,
        message: `values break their schema: ${places}`,
        details: { violations: unquoted },
      } as ToolError;
    }
    return output !== null && output.length > ANSWER_MAX ? (rest as ToolError) : error;
  }

  /** `null` if too many were written in this second. */
  #explanationOf({ tool, tenant, grants }: EngineCall): string | null {
    const byTenant = this.#explained.get(tool) ?? new Map<string, Explained>();
    this.#explained.set(tool, byTenant);
    const known = byTenant.get(tenant);
    if (known !== undefined && known.grants === grants) return known.text;
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) [this.#second, this.#written] = [second, 0];
    if (++this.#written > EXPLAINED_RATE) return null;
    const [oldest] = byTenant.keys();
    if (byTenant.size >= EXPLAINED_MAX && oldest !== undefined) byTenant.delete(oldest);
    const text = JSON.stringify(this.#options.explain(tool, tenant, grants));
    byTenant.set(tenant, { grants, text });
    return text;
  }
}

function turnsOf({ begunMs, startsMs }: EngineCall, reply: CallReply | null): GivenTurns {
  const told = reply?.turns ?? "";
  return {
    beginMs: begunMs,
    startsMs,
    cpuMs: reply?.cpuMs ?? 0,
    told: told.length <= TURNS_LENGTH ? told : "",
  };
}
