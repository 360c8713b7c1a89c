import { type Capability, type CapabilityRequest, matchesName } from "./capabilities/capability.ts";

/** The capabilities that tools may be granted. Names may end in `*`; what no rule allows is denied. */
export interface Policy {
  readonly rules: readonly PolicyRule[];
}

/** Allows something to the tools, tags and tenants it names: each list that it has must name the call's. */
export interface PolicyRule {
  readonly tools?: readonly string[];
  readonly tags?: readonly string[];
  readonly tenants?: readonly string[];
  readonly allow: CapabilityRequest;
}

/** The tool and tenant of a grant. */
export interface PolicySubject {
  readonly tool: string;
  readonly tags: readonly string[];
  /** `null`: what any tenant may have. */
  readonly tenant: string | null;
}

/** The value that a rule allows of one capability. */
export interface AllowedValue {
  /** The rule's index in the policy. */
  readonly rule: number;
  readonly value: unknown;
}

interface ReadRule {
  readonly rule: PolicyRule;
  readonly allow: ReadonlyMap<string, unknown>;
}

/** A policy whose values have been read. */
export class ReadPolicy {
  readonly #rules: readonly ReadRule[];

  /** Throws a `TypeError` that points at what is wrong. */
  constructor(policy: Policy, capabilities: ReadonlyMap<string, Capability>) {
    if (!Array.isArray(policy?.rules)) throw new TypeError("policy.rules is a list of rules");
    checkKeys(policy, ["rules"], "policy");
    this.#rules = policy.rules.map((rule: PolicyRule, at) => {
      const pointer = `policy.rules[${at}]`;
      checkKeys(rule, ["tools", "tags", "tenants", "allow"], pointer);
      for (const list of ["tools", "tags", "tenants"] as const) checkNames(rule[list], `${pointer}.${list}`);
      return { rule, allow: readRequest(rule.allow, capabilities, `${pointer}.allow`) };
    });
  }

  /** The capabilities that rules name and no engine of these has, by their places. */
  unknown(capabilities: ReadonlyMap<string, Capability>): readonly { readonly rule: number; readonly name: string }[] {
    return this.#rules.flatMap(({ rule }, at) =>
      Object.keys(rule.allow).flatMap((name) => (capabilities.has(name) ? [] : [{ rule: at, name }])),
    );
  }

  /** What the rules that speak of the subject allow of a capability. */
  allowed(subject: PolicySubject, capability: string): AllowedValue[] {
    return this.#rules.flatMap(({ rule, allow }, at) =>
      allow.has(capability) && applies(rule, subject) ? [{ rule: at, value: allow.get(capability) }] : [],
    );
  }
}

/** Whether a request or a rule names a capability, and does not say `false`. */
export function isGiven(request: CapabilityRequest, capability: string): boolean {
  // What an embedder passes may be anything, and what is not a list of grants grants nothing.
  if (typeof request !== "object" || request === null || !Object.hasOwn(request, capability)) return false;
  const value = request[capability];
  return value !== false && value !== undefined && value !== null;
}

function readRequest(
  allow: CapabilityRequest,
  capabilities: ReadonlyMap<string, Capability>,
  where: string,
): ReadonlyMap<string, unknown> {
  if (typeof allow !== "object" || allow === null) throw new TypeError(`${where} is an object of capabilities`);
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

/** A list that is misspelt would restrict nobody. */
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

/** A rule applies where each list it has names the subject. */
function applies(rule: PolicyRule, { tool, tags, tenant }: PolicySubject): boolean {
  if (rule.tools !== undefined && !rule.tools.some((pattern) => matchesName(pattern, tool))) return false;
  if (rule.tags !== undefined && !rule.tags.some((pattern) => tags.some((tag) => matchesName(pattern, tag))))
    return false;
  if (rule.tenants === undefined || tenant === null) return true;
  return rule.tenants.some((pattern) => matchesName(pattern, tenant));
}
