import {
  type CallToolRequestParams,
  type CallToolResult,
  LOG_LEVEL_META_KEY,
  type LoggingLevel,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { mcp, type RunOptions, type ToolRunner } from "../../tool/contracts/index.ts";
import type { LogLine, Progress } from "../../base/result.ts";
import { underSender } from "../trace-context.ts";

const NAME_MAX = 128;
const SEVERITIES: readonly LoggingLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];
const LEVELS: ReadonlyMap<string, LoggingLevel> = new Map([
  ["debug", "debug"],
  ["warn", "warning"],
  ["error", "error"],
]);

/** A tool's result, and the schema of its structured content. */
export interface CalledTool {
  readonly result: CallToolResult;
  readonly outputSchema: { [key: string]: unknown } | undefined;
}

/**
 * Runs the call of a `tools/call` request. The client receives progress if it sent a progress token, and log lines from
 * its requested level on. Cancelling the request or losing its connection cancels the call: no other client could
 * receive the result.
 */
export async function callTool(
  runner: ToolRunner,
  params: CallToolRequestParams,
  context: ServerContext,
  { level, tenant }: { readonly level: LoggingLevel | undefined; readonly tenant: string | undefined },
): Promise<CalledTool> {
  const tool = runner.get(params.name);
  if (tool === undefined) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name.slice(0, NAME_MAX)}`);
  }
  const notifications = new Telling(context, params.name);
  const options = {
    signal: signalOf(context),
    ...(tenant === undefined ? {} : { tenant }),
    ...notifications.options(level),
  };
  const result = await underSender(params._meta ?? {}, () => runner.execute(mcp.readCall(params), options));
  // Send all notifications before the result.
  await notifications.sent;
  const { outputSchema } = mcp.writeTool(tool);
  const written: CallToolResult = mcp.writeResult(result);
  // A client may validate structured content against the schema, even if it is a string.
  const promised = outputSchema !== undefined && result.success ? { structuredContent: result.output } : {};
  return { result: { ...written, ...promised }, outputSchema };
}

function signalOf({ mcpReq, http }: ServerContext): AbortSignal {
  const connection = http?.req?.signal;
  return connection === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, connection]);
}

/** Notifications to a request's client before its result. */
class Telling {
  readonly #request: ServerContext["mcpReq"];
  readonly #logger: string;
  #progress = Number.NEGATIVE_INFINITY;
  /** Resolves when all notifications so far are sent. */
  sent: Promise<void> = Promise.resolve();

  constructor({ mcpReq }: ServerContext, logger: string) {
    this.#request = mcpReq;
    this.#logger = logger;
  }

  /** `sessionLevel`: log level of the session. In later revisions of the protocol each request has its own. */
  options(sessionLevel: LoggingLevel | undefined): Pick<RunOptions, "onLog" | "onProgress"> {
    const { _meta: meta, envelope } = this.#request;
    const token = meta?.progressToken;
    const asked: unknown = envelope === undefined ? undefined : Reflect.get(envelope, LOG_LEVEL_META_KEY);
    const least = SEVERITIES.findIndex((severity) => severity === (asked ?? sessionLevel));
    return {
      ...(token === undefined ? {} : { onProgress: (progress) => this.#sendProgress(token, progress) }),
      ...(least < 0 ? {} : { onLog: (line) => this.#sendLine(least, line) }),
    };
  }

  /** The protocol requires increasing progress values. */
  #sendProgress(progressToken: string | number, progress: Progress): void {
    if (progress.progress <= this.#progress) return;
    this.#progress = progress.progress;
    this.#send("notifications/progress", { progressToken, ...progress });
  }

  #sendLine(least: number, { level, message }: LogLine): void {
    const severity = LEVELS.get(level) ?? "info";
    if (SEVERITIES.indexOf(severity) < least) return;
    this.#send("notifications/message", { level: severity, logger: this.#logger, data: message });
  }

  #send(method: string, params: Record<string, unknown>): void {
    // Ignore failures: the client has disconnected.
    const sent = this.#request.notify({ method, params }).catch(() => undefined);
    this.sent = Promise.all([this.sent, sent]).then(() => undefined);
  }
}
