import { parseForWriting } from "../../kernel/base/exact-json.ts";
import type { IncomingHttpHeaders } from "node:http";
import { WAIT_MAX_MS } from "../../kernel/engine/durable/durable-calls.ts";
import type { ExecuteOptions } from "../../kernel/engine/execute-options.ts";
import { isObject } from "../../kernel/base/json.ts";
import type { CapabilityRequest } from "../../kernel/broker/capabilities/capability.ts";
import type { Limits } from "../../kernel/base/limits.ts";
import type { ToolCall } from "../../kernel/base/result.ts";
import { parseWhenRead, unreadJson } from "../../kernel/base/unread-json.ts";

export interface ParsedCall {
  readonly call: ToolCall;
  readonly options: ExecuteOptions;
}

const TENANT_MAX = 256;
/** Options that every call of a batch may have. */
const OPTIONS: readonly string[] = [
  "tenant",
  "priority",
  "limits",
  "capabilities",
  "idempotencyKey",
  "retries",
  "pause",
  "waitMs",
  "durable",
  "undo",
];
const PAUSES = ["return", "wait", "refuse"] as const;

/** One object for all calls without options. */
export const NO_OPTIONS: ExecuteOptions = Object.freeze({});

/** Calls of a batch's body, in order; a string in the place of an invalid call describes the mistake. */
export type ParsedBatch = readonly (ParsedCall | string)[];

/**
 * Parses the body of `POST /v1/execute`; returns a string that describes the mistake in an invalid one. Checks only the
 * shape that the engine's types promise; the engine validates the values.
 */
export function parseCall(body: unknown): ParsedCall | string {
  if (!isObject(body)) return 'the body is not an object such as {"name":"add","arguments":{"a":1,"b":2}}';
  const { id, name, command } = body;
  if (typeof name !== "string") return "a call's name is a string";
  const options = parseOptions(body["options"]);
  // The ID and the arguments are passed on unchecked: the engine refuses invalid ones with its own messages.
  const given = unreadJson(body);
  const call: { -readonly [Name in keyof ToolCall]: unknown } = {
    name,
    arguments: given === undefined ? body["arguments"] : {},
  };
  if (id !== undefined && id !== null) call.id = id;
  if (command !== undefined) call.command = command;
  if (given !== undefined) parseWhenRead(call, "arguments", given, parseForWriting);
  return typeof options === "string" ? options : { call: call as ToolCall, options };
}

/**
 * Parses the body of `POST /v1/execute/batch`; returns a string that describes the mistake in an invalid one. An
 * invalid call fails alone. The batch's options apply to all calls; a call's own options override them.
 */
export function parseBatch(body: unknown, callsMax: number): ParsedBatch | string {
  if (!isObject(body)) return 'the body is not an object such as {"calls":[{"name":"add","arguments":{"a":1,"b":2}}]}';
  const unknown = Object.keys(body).find((name) => name !== "calls" && name !== "options");
  if (unknown !== undefined) return `${unknown.slice(0, 64)} is nothing that a batch has; there are calls, options`;
  const { calls } = body;
  if (!Array.isArray(calls) || calls.length === 0 || calls.length > callsMax) {
    return `a batch's calls are a list of 1 to ${callsMax} calls`;
  }
  const options = parseOptions(body["options"]);
  if (typeof options === "string") return options;
  if (options.idempotencyKey !== undefined) return "options.idempotencyKey is a call's own: a batch has none";
  return calls.map((each: unknown) => {
    const parsed = parseCall(each);
    if (typeof parsed === "string" || options === NO_OPTIONS) return parsed;
    return { call: parsed.call, options: { ...options, ...parsed.options } };
  });
}

function parseOptions(options: unknown): ExecuteOptions | string {
  if (options === undefined || options === null) return NO_OPTIONS;
  if (!isObject(options)) return "a call's options are an object";
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) return `options.${unknown.slice(0, 64)} is not an option; there are ${OPTIONS.join(", ")}`;
  const {
    tenant,
    priority,
    limits,
    capabilities,
    idempotencyKey,
    retries,
    pause: given,
    waitMs,
    durable,
    undo,
  } = options;
  if (tenant !== undefined && (typeof tenant !== "string" || tenant.length > TENANT_MAX)) {
    return `options.tenant is a string of at most ${TENANT_MAX} characters`;
  }
  if (priority !== undefined && typeof priority !== "number") return "options.priority is a number";
  if (limits !== undefined && !isObject(limits)) return "options.limits is an object of numbers";
  if (capabilities !== undefined && !isObject(capabilities)) return "options.capabilities is an object";
  if (idempotencyKey !== undefined && typeof idempotencyKey !== "string") return "options.idempotencyKey is a string";
  if (retries !== undefined && typeof retries !== "number") return "options.retries is a number";
  const pause = PAUSES.find((one) => one === given);
  if (given !== undefined && pause === undefined) return `options.pause is one of ${PAUSES.join(", ")}`;
  if (waitMs !== undefined && !isWait(waitMs)) return `options.waitMs is a number from 0 to ${WAIT_MAX_MS}`;
  if (durable !== undefined && typeof durable !== "boolean") return "options.durable is true or false";
  if (undo !== undefined && undo !== "onFailure") return "options.undo is onFailure";
  return {
    ...(durable === undefined ? {} : { durable }),
    ...(undo === undefined ? {} : { undo }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(retries === undefined ? {} : { retries }),
    ...(pause === undefined ? {} : { pause }),
    ...(waitMs === undefined ? {} : { waitMs }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(priority === undefined ? {} : { priority }),
    ...(limits === undefined ? {} : { limits: limits as Partial<Limits> }),
    ...(capabilities === undefined ? {} : { capabilities: capabilities as CapabilityRequest }),
  };
}

function isWait(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= WAIT_MAX_MS;
}

/** The preference `wait` of RFC 7240, in seconds. */
const PREFERS_WAIT = /(?:^|,)\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i;

/** Adds the header `Prefer: wait=25` to the options of a call without an option for pauses. */
function withPreference(options: ExecuteOptions, header: string | string[] | undefined): ExecuteOptions {
  const seconds = PREFERS_WAIT.exec(String(header))?.[1];
  if (seconds === undefined || options.pause !== undefined) return options;
  return { ...options, pause: "wait", waitMs: Math.min(Number(seconds) * 1_000, WAIT_MAX_MS) };
}

/** A string of RFC 8941 structured fields: in quotes, with `\"` and `\\` as escapes. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
/** An unquoted word, which most clients send; without spaces, quotes, commas and semicolons. */
const WORD = /^[!#-+\--:<-~]+$/;
const DIFFERENT = "the header Idempotency-Key and options.idempotencyKey are not the same";

/** Parses the body of `POST /v1/execute` and the headers that belong to it, as `parseCall` does. */
export function readCall(body: unknown, headers: IncomingHttpHeaders): ParsedCall | string {
  const parsed = parseCall(body);
  const { "idempotency-key": header, prefer } = headers;
  if (typeof parsed === "string" || (header === undefined && prefer === undefined)) return parsed;
  const options = withHeaderKey(parsed.options, header);
  return typeof options === "string" ? options : { ...parsed, options: withPreference(options, prefer) };
}

/**
 * Adds the key of the `Idempotency-Key` header, quoted or not, to a call's options; returns a string that describes the
 * mistake in an invalid one. The engine validates the key itself.
 */
function withHeaderKey(options: ExecuteOptions, header: string | string[] | undefined): ExecuteOptions | string {
  if (header === undefined) return options;
  const key = typeof header === "string" ? readKey(header.trim()) : undefined;
  if (key === undefined) return 'the header Idempotency-Key is one word, or text in quotes: "8e03978e-40d5"';
  const { idempotencyKey = key } = options;
  return idempotencyKey === key ? { ...options, idempotencyKey } : DIFFERENT;
}

function readKey(header: string): string | undefined {
  const quoted = QUOTED.exec(header)?.[1];
  if (quoted !== undefined) return quoted.replaceAll(/\\(.)/g, "$1");
  return WORD.test(header) ? header : undefined;
}
