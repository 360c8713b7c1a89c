import { isObject, memberOf } from "../../base/json.ts";
import type { ToolError } from "../../base/errors.ts";
import type { ToolResult } from "../../base/result.ts";
import type { CallReply } from "../../executor/executor.ts";
import { mayHidePasswords } from "../../store/calls/call-redaction.ts";
import {
  type CallCells,
  type DetailPart,
  type DetailTexts,
  type Keep,
  PART_MAX,
} from "../../store/calls/call-record.ts";
import type { CallStore } from "../../store/calls/call-store.ts";
import { outputPlace, type RegisteredTool } from "../../tool/registered-tool.ts";
import type { EngineCall } from "./engine-call.ts";
import { KeepRate } from "./keep-rate.ts";
import { type RedactValue, redactDetail } from "./redact-detail.ts";

const NAME_MAX = 256;
const ERROR_MAX = 1_000;
/** Length of an answer beyond which the details of the error in it are not written: they may be as long. */
const ANSWER_MAX = 64 * 1024;

interface KeeperOptions {
  readonly keep: Keep;
  readonly redact: RedactValue | undefined;
  readonly store: Pick<CallStore, "keep" | "skip">;
}

/**
 * Hands ended calls to the store. It copies what a call has: arguments and output stay the text that they are, and the
 * store's thread reads them.
 */
export class CallKeeper {
  readonly #store: Pick<CallStore, "keep" | "skip">;
  readonly #rate = new KeepRate();
  readonly #keep: Keep;
  readonly #redact: RedactValue | undefined;
  /** Schemas of tools that may have passwords, as JSON; `null` for other tools. */
  readonly #schemas = new WeakMap<RegisteredTool, string | null>();

  constructor({ keep, redact, store }: KeeperOptions) {
    this.#keep = keep;
    this.#redact = redact;
    this.#store = store;
  }

  /** `reply`: the executor's last one, if the call ran. */
  keep(call: EngineCall, result: ToolResult, reply: CallReply | null): void {
    const { callId, tool, tenant, args, begunMs, parent } = call;
    const sampled = this.#rate.standsFor(tenant, !result.success, begunMs);
    if (sampled === 0) return this.#store.skip();
    const { name, version, digest } = tool.info;
    const { queueMs, wallMs, cpuMs, attempts } = result.metadata;
    const output = reply?.outcome.ok === true ? reply.outcome.json : null;
    const error = result.error === null ? null : this.#describe(result.error, tool, output);
    const cells: CallCells = [
      callId,
      name,
      version,
      digest,
      tenant,
      parent === null ? null : parent.callId,
      error === null ? "ok" : error.code,
      error === null ? null : error.message.slice(0, ERROR_MAX),
      begunMs,
      queueMs,
      wallMs,
      cpuMs,
      args.length + (output === null ? 0 : output.length),
      attempts,
      sampled,
    ];
    if (this.#keep === "summaries" || (this.#keep === "failures" && error === null)) {
      return this.#store.keep([cells, null], 0);
    }
    const detail = this.#detailOf(tool, { args, output, error, logs: reply?.logs ?? "" });
    this.#store.keep([cells, detail], detail === null ? 0 : lengthOf(detail));
  }

  /** Keeps the summary of a call that was not accepted, or that the host has answered itself. */
  keepUnrun({ error, metadata }: ToolResult, tenant: string, parent: EngineCall | null): void {
    const { callId, tool, queueMs, wallMs, cpuMs, attempts } = metadata;
    const nowMs = Date.now();
    const sampled = this.#rate.standsFor(tenant, error !== null, nowMs);
    if (sampled === 0) return this.#store.skip();
    const [code, message] = error === null ? ["ok", null] : [error.code, error.message.slice(0, ERROR_MAX)];
    const parentId = parent === null ? null : parent.callId;
    const names = [callId.slice(0, NAME_MAX), tool.slice(0, NAME_MAX), null, null, tenant.slice(0, NAME_MAX)] as const;
    const times = [nowMs - Math.round(wallMs), queueMs, wallMs, cpuMs] as const;
    this.#store.keep([[...names, parentId, code, message, ...times, 0, attempts, sampled], null], 0);
  }

  #detailOf(
    tool: RegisteredTool,
    given: { args: string; output: string | null; error: ToolError | null; logs: string },
  ): DetailTexts | null {
    try {
      return this.#writeDetail(tool, given);
    } catch {
      // An error that a tool has made, or what `redact` returns, is no JSON: the call has its result all the same.
      return null;
    }
  }

  #writeDetail(
    tool: RegisteredTool,
    { args, output, error, logs }: { args: string; output: string | null; error: ToolError | null; logs: string },
  ): DetailTexts {
    const omitted: DetailPart[] = [];
    const part = (name: DetailPart, text: string | null): string | null => {
      if (text === null || text.length <= PART_MAX) return text;
      omitted.push(name);
      return null;
    };
    const detail: DetailTexts = {
      arguments: part("arguments", args),
      output: part("output", output),
      outputAt: outputPlace(tool),
      error: part("error", error === null ? null : JSON.stringify(error)),
      logs: part("logs", logs) ?? "",
      omitted,
      schemas: this.#schemasOf(tool),
    };
    return this.#redact === undefined ? detail : redactDetail(detail, tool.info.name, this.#redact);
  }

  /**
   * An error without what may be a password: a violation quotes the value. The details of an error that the tool has
   * returned are as long as the tool likes.
   */
  #describe(error: ToolError, tool: RegisteredTool, output: string | null): ToolError {
    const { details, ...rest } = error;
    if (details === undefined) return error;
    const violations = memberOf(details, "violations");
    if (Array.isArray(violations) && this.#schemasOf(tool) !== null) {
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

  /** Written once for each version of a tool, as when it is registered. */
  #schemasOf(tool: RegisteredTool): string | null {
    const known = this.#schemas.get(tool);
    if (known !== undefined) return known;
    const { inputSchema, outputSchema } = tool.info;
    const text = JSON.stringify([inputSchema, outputSchema]);
    const schemas = mayHidePasswords(text) ? text : null;
    this.#schemas.set(tool, schemas);
    return schemas;
  }
}

function lengthOf({ arguments: args, output, error, logs, schemas }: DetailTexts): number {
  return [args, output, error, logs, schemas].reduce((sum, text) => sum + (text?.length ?? 0), 0);
}
