import { isObject, type JsonSchema } from "../base/json.ts";
import { PAUSE_MAX_MS } from "./capabilities/pause.ts";
import { compileSchema } from "../base/schema/schema.ts";

/** Calls that need a person's approval, or that need none. Each list present has to match; names may end in `*`. */
export interface ApprovalRule {
  readonly tools?: readonly string[];
  readonly tags?: readonly string[];
  readonly tenants?: readonly string[];
  /** Only tools that are not declared `readOnly`. */
  readonly writes?: true;
  /** JSON Schema: only calls whose arguments match it. */
  readonly when?: JsonSchema;
  /** `never` waives the other rules, but not the approvals that a tool itself requests. Default `always`. */
  readonly approval?: "always" | "never";
  /** Names of the keys that may decide. Default: each with the role `approve`. */
  readonly by?: readonly string[];
  /** Whether the key that made the call may decide, too. Default false. */
  readonly self?: boolean;
  /** Time to decide, in milliseconds; then the call fails with `approval_refused`. Default: as long as the call is kept. */
  readonly expiresMs?: number;
  /** The text for the person, at most 1,000 characters. */
  readonly message?: string;
}

const LISTS = ["tools", "tags", "tenants", "by"] as const;
const KEYS = [...LISTS, "writes", "when", "approval", "self", "expiresMs", "message"];
const RULES_MAX = 1_000;
const MESSAGE_MAX = 1_000;

/** Checks the rules of a policy. Throws a `TypeError` that points at the error. */
export function requireApprovalRules(rules: unknown): void {
  if (rules === undefined) return;
  if (!Array.isArray(rules) || rules.length > RULES_MAX)
    throw new TypeError(`policy.approvals is a list of at most ${RULES_MAX} rules`);
  for (const [at, rule] of rules.entries()) {
    const problem = problemOf(rule);
    if (problem !== null) throw new TypeError(`policy.approvals[${at}]${problem}`);
  }
}

function problemOf(rule: unknown): string | null {
  if (!isObject(rule)) return ` is an object with ${KEYS.join(", ")}`;
  const odd = Object.keys(rule).find((key) => !KEYS.includes(key));
  if (odd !== undefined) return `.${odd.slice(0, 64)} is not one of ${KEYS.join(", ")}`;
  for (const list of LISTS) {
    const names = rule[list];
    const isList = Array.isArray(names) && names.every((name) => typeof name === "string");
    if (names !== undefined && !isList) return `.${list} is a list of names, each of which may end in *`;
  }
  const { writes, when, approval, self, expiresMs, message } = rule;
  if (writes !== undefined && writes !== true) return ".writes is true";
  if (approval !== undefined && approval !== "always" && approval !== "never") return ".approval is always or never";
  if (self !== undefined && typeof self !== "boolean") return ".self is true or false";
  const isTime = Number.isInteger(expiresMs) && Number(expiresMs) >= 1_000 && Number(expiresMs) <= PAUSE_MAX_MS;
  if (expiresMs !== undefined && !isTime) return ".expiresMs is a number of milliseconds from 1,000 to 90 days";
  const isText = typeof message === "string" && message.length <= MESSAGE_MAX;
  if (message !== undefined && !isText) return `.message is a text of at most ${MESSAGE_MAX} characters`;
  return when === undefined ? null : problemOfSchema(when);
}

function problemOfSchema(when: unknown): string | null {
  if (!isObject(when) && typeof when !== "boolean") return ".when is a JSON Schema";
  try {
    compileSchema(when, "inputSchema");
    return null;
  } catch (error) {
    return `.when: ${error instanceof Error ? error.message : String(error)}`;
  }
}
