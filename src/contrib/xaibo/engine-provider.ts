import { setTimeout as sleep } from "node:timers/promises";
import { forLoop, type RunOptions, type ToolRunner } from "../../kernel/tool/contracts/runner.ts";
import { type XaiboResult, xaibo } from "./contract/xaibo.ts";
import type { ToolError as ToolErrorData } from "../../kernel/base/errors.ts";
import type { ToolCall, ToolResult } from "../../kernel/base/result.ts";
import { notFound, ToolError, ToolExecutionError, ToolNotFoundError, ToolParameterError } from "./errors.ts";
import type { CallContext, ToolProviderProtocol } from "./protocol.ts";

export interface EngineProviderOptions {
  /** Whether failures are thrown as `ToolError`s. Default: they are results. */
  readonly throwOnError?: boolean;
  /** Tenant of the calls. */
  readonly tenant?: string;
  /** Names of the tools that it lists and executes. Default: all registered tools. */
  readonly tools?: readonly string[];
  /**
   * Maximum number of retries of a retryable failure. Only if that is safe: the tool is idempotent or read-only, or the
   * call has an idempotency key. Default 0, at most 5.
   */
  readonly retries?: number;
}

const RETRIES_MAX = 5;
/**
 * Delays before a retry, in milliseconds: the first, which doubles each time, and the maximum. A failure may give its
 * own.
 */
const [WAIT_MS, WAIT_MAX_MS] = [50, 5_000];

/** Makes a provider of an engine, or of another runner of tools. It has the tools of every contract. */
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
    forModels: (model) => {
      const loop = forLoop(runner, model);
      const shownTo = { ...loop, list: () => [...listed(), ...(loop.reader === undefined ? [] : [loop.reader])] };
      const { tools: _shown, ...others } = options;
      return toolProvider(shownTo, others);
    },
  };

  function missing(name: string): ToolNotFoundError {
    return notFound(
      name,
      listed().map((tool) => tool.name),
    );
  }
}

/** Xaibo's error class for an engine's failure. */
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

/** Waits for the failure's `retryAfterMs`, or with exponential backoff; a signal ends the wait. */
async function pause({ details }: ToolErrorData, tried: number, signal: AbortSignal | undefined): Promise<void> {
  const said: unknown =
    typeof details === "object" && details !== null && "retryAfterMs" in details ? details.retryAfterMs : undefined;
  const waitMs = typeof said === "number" && said >= 0 ? said : WAIT_MS * 2 ** tried;
  await sleep(Math.min(waitMs, WAIT_MAX_MS), undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}
