import { matchesName } from "../base/name-patterns.ts";
import { type ApprovalRule, requireApprovalRules } from "./approval-rules.ts";
import { type Capability, type CapabilityRequest, faultOf } from "./capabilities/capability.ts";

/**
 * Rules for the capabilities that tools may be granted. Names may end in `*`. Without a rule that allows it, a request
 * is denied.
 */
export interface Policy {
  readonly rules: readonly PolicyRule[];
  /** Calls that a person has to approve before they run. Default: none. */
  readonly approvals?: readonly ApprovalRule[];
}

/**
 * Allows capabilities to tools, tags and tenants. The rule applies if each list present matches the call, and the
 * tool's registrant is one of the rule's.
 */
export interface PolicyRule {
  /**
   * Registrants of the tools: `operator`, `key:NAME`, `local`. A registrant chooses the name and the tags of a tool, so
   * by default a rule applies to the operator's tools alone.
   */
  readonly registrants?: readonly string[];
  /** Digests of the tools, as `ToolInfo.digest` has them: another version of a tool is not granted anything. */
  readonly digests?: readonly string[];
  readonly tools?: readonly string[];
  readonly tags?: readonly string[];
  readonly tenants?: readonly string[];
  readonly allow: CapabilityRequest;
}

/** The tool and tenant for which a grant is decided. */
export interface PolicySubject {
  readonly tool: string;
  readonly registrant: string;
  readonly digest: string;
  readonly tags: readonly string[];
  /** `null` for any tenant: rules then apply regardless of the tenants they name. */
  readonly tenant: string | null;
}

/** A rule's value for one capability. */
export interface AllowedValue {
  /** The rule's index in the policy. */
  readonly rule: number;
  readonly value: unknown;
}

const LISTS = ["registrants", "digests", "tools", "tags", "tenants"] as const;
/** The registrant of tools in an engine's options, and of those that its embedder registers. */
export const OPERATOR = "operator";
const OPERATORS: readonly string[] = [OPERATOR];

interface ReadRule {
  readonly rule: PolicyRule;
  readonly allow: ReadonlyMap<string, unknown>;
}

/** A rule as errors, explanations and records name it: `policy.rules[2]`. */
export function ruleAt(index: number): string {
  return `policy.rules[${index}]`;
}

/** A policy with parsed values. */
export class ReadPolicy {
  readonly #rules: readonly ReadRule[];

  /** Throws a `TypeError` that points at the error. */
  constructor(policy: Policy, capabilities: ReadonlyMap<string, Pick<Capability, "grants">>) {
    if (!Array.isArray(policy?.rules))
      throw new TypeError(`policy.rules ${faultOf(policy?.rules, "is a list of rules")}`);
    checkKeys(policy, ["rules", "approvals"], "policy");
    requireApprovalRules(policy.approvals);
    this.#rules = policy.rules.map((rule: PolicyRule, at) => {
      const pointer = ruleAt(at);
      checkKeys(rule, [...LISTS, "allow"], pointer);
      for (const list of LISTS) checkNames(rule[list], `${pointer}.${list}`);
      return { rule, allow: readRequest(rule.allow, capabilities, `${pointer}.allow`) };
    });
  }

  /** Names in rules that are not capabilities of the engine, with the indices of the rules. */
  unknown(
    capabilities: ReadonlyMap<string, Pick<Capability, "grants">>,
  ): readonly { readonly rule: number; readonly name: string }[] {
    return this.#rules.flatMap(({ rule }, at) =>
      Object.keys(rule.allow).flatMap((name) => (capabilities.has(name) ? [] : [{ rule: at, name }])),
    );
  }

  /** The reason that excludes the subject from rules that name it: its registrant or its digest; `null` for neither. */
  obstacle(subject: PolicySubject, capability: string): "registrant" | "digest" | null {
    const named = this.#rules.filter(({ rule, allow }) => allow.has(capability) && isNamed(rule, subject));
    if (named.length === 0) return null;
    return named.some(({ rule }) => isOfRegistrant(rule, subject)) ? "digest" : "registrant";
  }

  /** Whether any rule allows a capability. */
  names(capability: string): boolean {
    return this.#rules.some(({ allow }) => allow.has(capability));
  }

  /** The values that rules applicable to the subject allow of a capability. */
  allowed(subject: PolicySubject, capability: string): AllowedValue[] {
    return this.#rules.flatMap(({ rule, allow }, at) =>
      allow.has(capability) && applies(rule, subject) ? [{ rule: at, value: allow.get(capability) }] : [],
    );
  }
}

/** Whether a request or a rule names a capability with a value other than `false`. */
export function isGiven(request: CapabilityRequest, capability: string): boolean {
  // An embedder may pass any value; a value that is not an object grants nothing.
  if (typeof request !== "object" || request === null || !Object.hasOwn(request, capability)) return false;
  const value = request[capability];
  return value !== false && value !== undefined && value !== null;
}

function readRequest(
  allow: CapabilityRequest,
  capabilities: ReadonlyMap<string, Pick<Capability, "grants">>,
  where: string,
): ReadonlyMap<string, unknown> {
  if (typeof allow !== "object" || allow === null)
    throw new TypeError(`${where} ${faultOf(allow, "is an object of capabilities, such as { kv: true }")}`);
  const read = new Map<string, unknown>();
  for (const name of Object.keys(allow)) {
    const capability = capabilities.get(name);
    if (capability === undefined || !isGiven(allow, name)) continue;
    try {
      read.set(name, capability.grants.read(allow[name], "policy"));
    } catch (error) {
      throw new TypeError(`${where}.${name}${error instanceof Error ? error.message : " cannot be read"}`, {
        cause: error,
      });
    }
  }
  return read;
}

/** Rejects unknown keys: a rule whose list is misspelt would apply to all. */
function checkKeys(value: unknown, known: readonly string[], where: string): void {
  if (typeof value !== "object" || value === null)
    throw new TypeError(`${where} is an object with ${known.join(", ")}`);
  const odd = Object.keys(value).find((key) => !known.includes(key));
  if (odd !== undefined) throw new TypeError(`${where}.${odd.slice(0, 64)} is not one of ${known.join(", ")}`);
}

function checkNames(names: unknown, where: string): void {
  if (names === undefined) return;
  if (Array.isArray(names) && names.every((name) => typeof name === "string")) return;
  throw new TypeError(`${where} is a list of names, each of which may end in *`);
}

/** Whether each list present in the rule matches the subject. */
function applies(rule: PolicyRule, subject: PolicySubject): boolean {
  return isOfRegistrant(rule, subject) && isOfDigest(rule, subject) && isNamed(rule, subject);
}

function isOfRegistrant({ registrants = OPERATORS }: PolicyRule, { registrant }: PolicySubject): boolean {
  return registrants.some((pattern) => matchesName(pattern, registrant));
}

function isOfDigest({ digests }: PolicyRule, { digest }: PolicySubject): boolean {
  return digests === undefined || digests.includes(digest);
}

function isNamed(rule: PolicyRule, { tool, tags, tenant }: PolicySubject): boolean {
  if (rule.tools !== undefined && !rule.tools.some((pattern) => matchesName(pattern, tool))) return false;
  if (rule.tags !== undefined && !rule.tags.some((pattern) => tags.some((tag) => matchesName(pattern, tag))))
    return false;
  if (rule.tenants === undefined || tenant === null) return true;
  return rule.tenants.some((pattern) => matchesName(pattern, tenant));
}
