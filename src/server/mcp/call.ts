import {
  type CallToolRequestParams,
  type CallToolResult,
  type InputRequiredResult,
  LOG_LEVEL_META_KEY,
  type LoggingLevel,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { mcp, type RunOptions, type ToolDescription, type ToolRunner } from "../../standard/contracts.ts";
import type { McpResult, McpTool } from "../../kernel/tool/contracts/mcp.ts";
import { mayBeContent } from "../../kernel/tool/contracts/mcp-content.ts";
import type { ModelAnswer, ModelRunner } from "../../kernel/tool/contracts/runner.ts";
import {
  forModels,
  type LogLine,
  type Progress,
  type ToolCall,
  type ToolResult,
  writableOutput,
} from "../../kernel/base/result.ts";
import { partsOf, unreadJson } from "../../kernel/base/unread-json.ts";
import { describeCall } from "../../kernel/engine/telemetry/tracing.ts";
import { underSender } from "../trace-context.ts";
import type { ElicitedApprovals } from "./elicited-approval.ts";
import { lifetimeOf } from "./kept-streams.ts";
import { markOutput } from "./long-outputs.ts";
import { outputUri } from "./resources.ts";

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

/** The description of a tool for clients. */
interface DescribedTool {
  readonly tool: McpTool;
  /** Length as JSON. */
  readonly length: number;
}

const described = new WeakMap<ToolDescription, DescribedTool>();

/** Describes a tool: once if its description cannot change, as with an engine's tools. */
export function describeTool(given: ToolDescription): DescribedTool {
  const known = described.get(given);
  if (known !== undefined) return known;
  const tool = mcp.writeTool(given);
  const written = { tool, length: JSON.stringify(tool).length };
  if (Object.isFrozen(given)) described.set(given, written);
  return written;
}

/** How a call is made, and how its result is written. */
interface CallSettings {
  /** Log level of the session. */
  readonly level: LoggingLevel | undefined;
  readonly tenant: string | undefined;
  /** Revision of the protocol that the client speaks, if known. */
  readonly revision: string | undefined;
  /** Asks the client about waiting calls; `null` if it cannot be asked. */
  readonly approvals: ElicitedApprovals | null;
  readonly capabilities: unknown;
}

/** From this revision on, a client sends answers back with another request. */
const COMES_BACK = "2026-07-28";

/** A question that the client answers with its next request. */
export interface AskedBack {
  readonly request: InputRequiredResult;
}

/** A tool's result, and the schema of its structured content. */
export interface CalledTool {
  readonly result: CallToolResult;
  readonly outputSchema: { [key: string]: unknown } | undefined;
}

/**
 * Runs the call of a `tools/call` request. The client receives progress if it sent a progress token, and log lines from
 * its requested level on. Cancelling the request cancels the call, and so does losing its connection, unless its stream
 * is kept and the client returns in time: no other client could receive the result.
 */
export async function callTool(
  runner: ToolRunner | ModelRunner,
  params: CallToolRequestParams,
  context: ServerContext,
  settings: CallSettings,
): Promise<CalledTool | AskedBack> {
  const tool = runner.get(params.name);
  if (tool === undefined) {
    const advice = runner.describeMissing?.(params.name);
    const missing = `Unknown tool: ${params.name.slice(0, NAME_MAX)}`;
    const message = advice === undefined ? missing : `${missing}. ${advice}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const { tenant, level, revision } = settings;
  const notifications = new Telling(context, params.name);
  const options = {
    signal: signalOf(context),
    ...(tenant === undefined ? {} : { tenant }),
    ...notifications.options(level),
  };
  const make = () => answerTo(runner, params, options, { context, settings });
  const answer = await underSender(params._meta ?? {}, () => describeCall(() => attributesOf(context, revision), make));
  // Send all notifications before the result.
  await notifications.sent;
  return "resultType" in answer ? { request: answer } : writeAnswer(answer, tool, params.name, { context, revision });
}

/** A request as OpenTelemetry's conventions for MCP describe it in a span. */
function attributesOf(
  { mcpReq, sessionId, http }: ServerContext,
  revision: string | undefined,
): Record<string, string> {
  return {
    "mcp.method.name": mcpReq.method,
    "jsonrpc.request.id": String(mcpReq.id).slice(0, NAME_MAX),
    ...(revision === undefined ? {} : { "mcp.protocol.version": revision }),
    ...(sessionId === undefined ? {} : { "mcp.session.id": sessionId }),
    ...(http === undefined ? {} : { "network.transport": "tcp", "network.protocol.name": "http" }),
  };
}

/** Writes the end of a call for a client of some revision. */
function writeAnswer(
  answer: ModelAnswer,
  tool: ToolDescription,
  name: string,
  { context, revision }: { readonly context: ServerContext; readonly revision: string | undefined },
): CalledTool {
  const { outputSchema } = describeTool(tool).tool;
  const { result, shown, kept } = answer;
  const request = context.http?.req;
  if (result !== shown && shown.metadata["originalChars"] !== result.metadata["originalChars"]) {
    const cut = withKnownBlocks(withLink(mcp.writeResult(shown), kept, name), revision);
    const data = outputSchema === undefined || !result.success ? {} : structuredOf(result, request);
    return { result: { ...cut, ...data } as CallToolResult, outputSchema };
  }
  const long = unreadJson(shown);
  if (long !== undefined && request !== undefined && mayBeCopied(partsOf(long), outputSchema)) {
    return { result: writeLong(request, partsOf(long)), outputSchema };
  }
  const written = withKnownBlocks(mcp.writeResult(shown), revision);
  // A client may validate structured content against the schema, even if it is a string.
  const isPromised = written.structuredContent !== undefined || (outputSchema !== undefined && result.success);
  const promised = isPromised ? { structuredContent: writableOutput(outputSchema === undefined ? shown : result) } : {};
  return { result: { ...written, ...promised } as CallToolResult, outputSchema };
}

/** Makes a call, or continues one after the client's answer, and asks the client about a waiting one. */
async function answerTo(
  runner: ToolRunner | ModelRunner,
  params: CallToolRequestParams,
  options: RunOptions & { readonly signal: AbortSignal },
  { context, settings }: { readonly context: ServerContext; readonly settings: CallSettings },
): Promise<ModelAnswer | InputRequiredResult> {
  const { approvals, capabilities, revision = "" } = settings;
  const client = { context, capabilities, comesBack: revision >= COMES_BACK, signal: options.signal };
  if (approvals !== null && context.mcpReq.requestState() !== undefined) {
    const resumed = await approvals.resume(params.name, client);
    return "resultType" in resumed ? resumed : showOf(runner, resumed, options);
  }
  const made = await answerOf(runner, mcp.readCall(params), options);
  if (approvals === null || made.result.error?.code !== "paused") return made;
  const settled = await approvals.settle(made.result, params.name, client);
  if ("resultType" in settled) return settled;
  return settled === made.result ? made : showOf(runner, settled, options);
}

async function showOf(runner: ToolRunner | ModelRunner, result: ToolResult, options: RunOptions): Promise<ModelAnswer> {
  const shown = "showResult" in runner ? await runner.showResult?.(result, options) : undefined;
  return shown ?? { result, shown: forModels(result), kept: null };
}

async function answerOf(runner: ToolRunner | ModelRunner, call: ToolCall, options: RunOptions): Promise<ModelAnswer> {
  if ("answerCall" in runner) return runner.answerCall(call, options);
  return showOf(runner, await runner.execute(call, options), options);
}

/** The whole output as data, which a client validates against the tool's schema: a mark if it is long. */
function structuredOf(result: ToolResult, request: Request | undefined): Pick<CallToolResult, "structuredContent"> {
  const long = unreadJson(result);
  if (long === undefined || request === undefined || !long.json.startsWith("{")) {
    return { structuredContent: writableOutput(result) as CallToolResult["structuredContent"] };
  }
  return { structuredContent: { [markOutput(request, partsOf(long))]: 0 } };
}

/** A cut result with a link to the whole output, if that is kept. */
function withLink({ content, ...others }: McpResult, kept: string | null, tool: string): McpResult {
  if (kept === null) return { content, ...others };
  const link = {
    type: "resource_link",
    uri: outputUri(kept),
    name: `Output of ${tool}`,
    mimeType: "text/plain",
  } as const;
  return { content: [...content, link], ...others };
}

/**
 * Whether a client of any revision gets the output unchanged: older ones get only objects, and other values within one.
 * Possible content is parsed.
 */
function mayBeCopied(parts: readonly string[], outputSchema: { readonly type?: unknown } | undefined): boolean {
  const [json = ""] = parts;
  if (json.startsWith('"')) return outputSchema === undefined;
  if (mayBeContent(parts)) return false;
  return json.startsWith("{") && (outputSchema === undefined || outputSchema.type === "object");
}

/** A result as `mcp.writeResult` writes it, with marks instead of the output. */
function writeLong(request: Request, json: readonly string[]): CallToolResult {
  const content: CallToolResult["content"] = [{ type: "text", text: markOutput(request, json) }];
  if (json[0]?.startsWith('"') === true) return { content };
  return { content, structuredContent: { [markOutput(request, json)]: 0 } };
}

/** Blocks by the revisions that introduced them; clients of earlier ones would refuse the whole result. */
const SINCE: ReadonlyMap<string, string> = new Map([
  ["audio", "2025-03-26"],
  ["resource_link", "2025-06-18"],
]);

function withKnownBlocks({ content, ...others }: McpResult, revision: string | undefined): CallToolResult {
  if (revision === undefined) return { content, ...others };
  const isKnown = ({ type }: { readonly type: string }): boolean => (SINCE.get(type) ?? "") <= revision;
  const known = content.map((block) =>
    isKnown(block) ? block : { type: "text" as const, text: JSON.stringify(block) },
  );
  return { content: known, ...others };
}

function signalOf({ mcpReq, http }: ServerContext): AbortSignal {
  const request = http?.req;
  return request === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, lifetimeOf(request)]);
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
