import type { CapabilityRequest } from "../capabilities/capability.ts";

/** What may be granted to whom. Names may end in `*`; what no rule allows is denied. */
export interface Policy {
  readonly rules: readonly PolicyRule[];
}

export interface PolicyRule {
  readonly tools?: readonly string[];
  readonly tags?: readonly string[];
  readonly tenants?: readonly string[];
  readonly allow: CapabilityRequest;
}

/** Who a grant is for. */
export interface Subject {
  readonly tool: string;
  readonly tags: readonly string[];
  readonly tenant: string;
}

/** Whether some rule that speaks of the subject allows the capability at all. */
export function allows(policy: Policy, subject: Subject, capability: string): boolean {
  return policy.rules.some((rule) => applies(rule, subject) && isGiven(rule.allow, capability));
}

/** Whether a request or a rule names a capability, and does not say `false`. */
export function isGiven(request: CapabilityRequest, capability: string): boolean {
  // What an embedder passes may be anything, and what is not a list of grants grants nothing.
  if (typeof request !== "object" || request === null || !Object.hasOwn(request, capability)) return false;
  const value = request[capability];
  return value !== false && value !== undefined && value !== null;
}

/** A rule applies where each list it has names the subject. */
function applies(rule: PolicyRule, { tool, tags, tenant }: Subject): boolean {
  if (rule.tools !== undefined && !rule.tools.some((pattern) => matches(pattern, tool))) return false;
  if (rule.tags !== undefined && !rule.tags.some((pattern) => tags.some((tag) => matches(pattern, tag)))) return false;
  return rule.tenants === undefined || rule.tenants.some((pattern) => matches(pattern, tenant));
}

function matches(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}
