import { setTimeout as sleep } from "node:timers/promises";
import type { RunOptions, ToolRunner } from "../../tool/contracts/runner.ts";
import { type XaiboResult, xaibo } from "../../tool/contracts/xaibo.ts";
import type { ToolError as ToolErrorData } from "../../base/errors.ts";
import type { ToolCall, ToolResult } from "../../base/result.ts";
import { notFound, ToolError, ToolExecutionError, ToolNotFoundError, ToolParameterError } from "./errors.ts";
import type { CallContext, ToolProviderProtocol } from "./protocol.ts";

export interface EngineProviderOptions {
  /** Failures are thrown, as `ToolError`s. Default: they are results. */
  readonly throwOnError?: boolean;
  /** Whose calls these are. */
  readonly tenant?: string;
  /** The tools it shows and executes. Default: all that are registered. */
  readonly tools?: readonly string[];
  /**
   * How often a call is made again whose failure may pass. Only where that is safe: its tool says that it is idempotent
   * or only reads, or the call has an idempotency key. Default 0, at most 5.
   */
  readonly retries?: number;
}

const RETRIES_MAX = 5;
/** Waits before a retry, in milliseconds: the first where the failure says nothing, and the longest. */
const [WAIT_MS, WAIT_MAX_MS] = [50, 5_000];

/** An engine, or anything that runs tools, as a provider. Every tool is in it, whatever contract it is written in. */
export function toolProvider(runner: ToolRunner, options: EngineProviderOptions = {}): ToolProviderProtocol {
  const { throwOnError = false, tenant, tools } = options;
  const retries = Math.min(Math.max(0, options.retries ?? 0), RETRIES_MAX);
  const shown = tools === undefined ? null : new Set(tools);
  const listed = () => runner.list().filter(({ name }) => shown === null || shown.has(name));

  const perform = async (call: ToolCall, context: CallContext): Promise<ToolResult> => {
    const { signal, idempotencyKey } = context;
    const run: RunOptions = {
      ...(tenant === undefined ? {} : { tenant }),
      ...(signal === undefined ? {} : { signal }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    };
    const { idempotent = false, readOnly = false } = runner.get(call.name)?.annotations ?? {};
    const isSafe = idempotent || readOnly || idempotencyKey !== undefined;
    for (let tried = 0; ; tried++) {
      const result = await runner.execute(call, run);
      if (result.error?.retryable !== true || !isSafe || tried >= retries || signal?.aborted === true) return result;
      await pause(result.error, tried, signal);
    }
  };

  return {
    list_tools: () => Promise.resolve(listed().map((tool) => xaibo.writeTool(tool))),
    execute_tool: async (name, parameters, context = {}): Promise<XaiboResult> => {
      const error = listed().some((tool) => tool.name === name) ? null : missing(name);
      if (error !== null) {
        if (throwOnError) throw error;
        return { success: false, result: null, error: error.message };
      }
      const id = context.id === undefined ? {} : { id: context.id };
      const result = await perform({ ...id, name, arguments: { ...parameters } }, context);
      if (throwOnError && !result.success) throw thrownFor(result.error);
      return xaibo.writeResult(result);
    },
  };

  function missing(name: string): ToolNotFoundError {
    return notFound(
      name,
      listed().map((tool) => tool.name),
    );
  }
}

/** The class that the document has for a failure of the engine's. */
function thrownFor(error: ToolErrorData | null): ToolError {
  if (error === null) return new ToolExecutionError("the call failed");
  const { code, message, retryable, details } = error;
  const options = { code, retryable, details };
  switch (code) {
    case "tool_not_found":
      return new ToolNotFoundError(message, options);
    case "invalid_arguments":
    case "input_too_large":
      return new ToolParameterError(message, options);
    default:
      return new ToolExecutionError(message, options);
  }
}

/** Waits as long as the failure says, or longer each time; a signal ends the wait. */
async function pause({ details }: ToolErrorData, tried: number, signal: AbortSignal | undefined): Promise<void> {
  const said: unknown =
    typeof details === "object" && details !== null && "retryAfterMs" in details ? details.retryAfterMs : undefined;
  const waitMs = typeof said === "number" && said >= 0 ? said : WAIT_MS * 2 ** tried;
  await sleep(Math.min(waitMs, WAIT_MAX_MS), undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}
