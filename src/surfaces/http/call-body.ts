import { isObject } from "../../json.ts";
import type { CapabilityRequest } from "../../capabilities/capability.ts";
import type { ExecuteOptions } from "../../execute-options.ts";
import type { Limits } from "../../limits.ts";
import type { ToolCall } from "../../result.ts";

/** A call as its body asks for it. */
export interface ParsedCall {
  readonly call: ToolCall;
  readonly options: ExecuteOptions;
}

const TENANT_MAX = 256;
const OPTIONS: readonly string[] = ["tenant", "priority", "limits", "capabilities", "idempotencyKey", "retries"];

/**
 * Reads the body of `POST /v1/execute`; answers what is wrong with it where it is none. Only the form is checked that
 * the engine's types promise: what the values mean, the engine says.
 */
export function parseCall(body: unknown): ParsedCall | string {
  if (!isObject(body)) return 'the body is not an object such as {"name":"add","arguments":{"a":1,"b":2}}';
  const { id, name, arguments: args, command } = body;
  if (typeof name !== "string") return "a call's name is a string";
  const options = parseOptions(body["options"] ?? {});
  // The id and the arguments go to the engine as they came: it refuses those that are none in its own words.
  const said = { ...(id === undefined || id === null ? {} : { id }), ...(command === undefined ? {} : { command }) };
  const call = { ...said, name, arguments: args } as ToolCall;
  return typeof options === "string" ? options : { call, options };
}

function parseOptions(options: unknown): ExecuteOptions | string {
  if (!isObject(options)) return "a call's options are an object";
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) return `options.${unknown.slice(0, 64)} is not an option; there are ${OPTIONS.join(", ")}`;
  const { tenant, priority, limits, capabilities, idempotencyKey, retries } = options;
  if (tenant !== undefined && (typeof tenant !== "string" || tenant.length > TENANT_MAX)) {
    return `options.tenant is a string of at most ${TENANT_MAX} characters`;
  }
  if (priority !== undefined && typeof priority !== "number") return "options.priority is a number";
  if (limits !== undefined && !isObject(limits)) return "options.limits is an object of numbers";
  if (capabilities !== undefined && !isObject(capabilities)) return "options.capabilities is an object";
  if (idempotencyKey !== undefined && typeof idempotencyKey !== "string") return "options.idempotencyKey is a string";
  if (retries !== undefined && typeof retries !== "number") return "options.retries is a number";
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(retries === undefined ? {} : { retries }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(priority === undefined ? {} : { priority }),
    ...(limits === undefined ? {} : { limits: limits as Partial<Limits> }),
    ...(capabilities === undefined ? {} : { capabilities: capabilities as CapabilityRequest }),
  };
}
