import { pointerSegment, seen } from "../base/json.ts";
import type { Remedy } from "../base/remedy.ts";
import type { CapabilityRequest, Refused } from "./capabilities/capability.ts";
import { type AllowedValue, isGiven, type Policy, ReadPolicy, type PolicySubject } from "./policy.ts";
import { type DeniedCall, remediesFor } from "./remedies.ts";
import { faultSentence, offerRule, type RuleOffer } from "./rule-offer.ts";
import type { PlacedCapability } from "./thread/host-capability.ts";

/** The call or tool whose grants are decided. */
export interface GrantSubject extends PolicySubject {
  /** The tool's request. */
  readonly requested: CapabilityRequest;
  /** The call's narrowing; `undefined` if it has none. */
  readonly narrowed: CapabilityRequest | undefined;
}

/** Decision on a capability: granted, with one value for each rule that grants something, or refused. */
export type Decision =
  | { readonly isGranted: true; readonly capability: PlacedCapability; readonly granted: readonly AllowedValue[] }
  | { readonly isGranted: false; readonly message: string; readonly refused: Refused };

const NAME_SHOWN = 64;
const REQUEST_SHOWN = 500;

/** Granted = requested ∩ policy ∩ narrowed. */
export class Grants {
  readonly capabilities: ReadonlyMap<string, PlacedCapability>;
  /** As it was given. */
  readonly policy: Policy;
  readonly #policy: ReadPolicy;

  /** Throws a `TypeError` if the policy is invalid. */
  constructor(capabilities: ReadonlyMap<string, PlacedCapability>, policy: Policy) {
    this.capabilities = capabilities;
    this.policy = policy;
    this.#policy = new ReadPolicy(policy, capabilities);
  }

  /** Capabilities that the policy's rules name and the engine does not have. */
  unknown(): ReturnType<ReadPolicy["unknown"]> {
    return this.#policy.unknown(this.capabilities);
  }

  /** Whether any rule of the policy allows a capability. */
  allows(name: string): boolean {
    return this.#policy.names(name);
  }

  /** Texts to paste, so that a denied call of a tool is granted, and nothing else. */
  remedies(subject: GrantSubject, denied: DeniedCall): readonly Remedy[] {
    const { capability: name } = denied;
    const capability = this.capabilities.get(name);
    // A narrowing is the caller's own decision.
    if (capability === undefined || subject.narrowed !== undefined) return [];
    const allowed = this.#policy.allowed(subject, name).map(({ value }) => value);
    try {
      return remediesFor(denied, subject, { grants: capability.grants, allowed });
    } catch {
      // Arguments and requests are hostile input. The refusal names a change even without a remedy.
      return [];
    }
  }

  /** The least rule under which a tool is granted its request. */
  offer(subject: PolicySubject, requested: CapabilityRequest): RuleOffer {
    return offerRule(subject, requested, (name) => {
      const capability = this.capabilities.get(name);
      const allowed = this.#policy.allowed(subject, name).map(({ value }) => value);
      return capability && { grants: capability.grants, allowed };
    });
  }

  decide(subject: GrantSubject, name: string): Decision {
    try {
      return this.#decide(subject, name);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      // Tools' requests are validated at registration and policies at the start of the engine; those of calls are not.
      const message = `the request for "${name.slice(0, NAME_SHOWN)}" cannot be read: ${faultSentence(error.message)}`;
      return refuse(message, name.slice(0, NAME_SHOWN), "nothing", "use the form of a tool's capabilities");
    }
  }

  #decide(subject: GrantSubject, name: string): Decision {
    const shown = name.slice(0, NAME_SHOWN);
    const { tool, requested, narrowed } = subject;
    const capability = this.capabilities.get(name);
    if (!isGiven(requested, name)) {
      const remedy = `ask for it in the tool's capabilities: { "${shown}": … }, and allow it in a policy rule`;
      return refuse(`tool "${tool}" does not ask for the capability "${shown}"`, shown, "nothing", remedy);
    }
    if (capability === undefined) {
      const remedy = "add it to the engine option capabilities";
      return refuse(`the engine has no capability "${shown}"`, shown, "nothing", remedy);
    }
    const { grants } = capability;
    const allowed = this.#policy.allowed(subject, name);
    if (allowed.length === 0) {
      const obstacle = this.#policy.obstacle(subject, name);
      if (obstacle !== null) return refuseStranger(subject, shown, obstacle);
      const message = `no policy rule allows the capability "${shown}" to tool "${tool}"`;
      return refuse(message, shown, "nothing", ruleFor(tool, shown, requested[name]));
    }
    const asked = grants.read(requested[name], "request");
    const agreed = meetAll(capability, asked, allowed);
    if (agreed.length === 0) {
      const given = allowed.map(({ value }) => grants.describe(value)).join("; ");
      const message = `no policy rule allows what tool "${tool}" asks for of "${shown}"`;
      return refuse(message, grants.describe(asked), given, ruleFor(tool, shown, requested[name]));
    }
    if (narrowed === undefined) return { isGranted: true, capability, granted: agreed };
    const given = isGiven(narrowed, name) ? meetAll(capability, grants.read(narrowed[name], "narrowing"), agreed) : [];
    if (given.length > 0) return { isGranted: true, capability, granted: given };
    return refuse(
      `the option capabilities of this call excludes "${shown}"`,
      shown,
      "nothing",
      "add it to the call's option capabilities",
    );
  }
}

/** The change that allows a tool its request; `…` in place of a long one. */
function ruleFor(tool: string, capability: string, request: unknown): string {
  const text = seen(JSON.stringify(request));
  const value = text.length > REQUEST_SHOWN ? "…" : text;
  return `add it to a policy rule that applies to the tool: { "tools": ["${tool}"], "allow": { "${capability}": ${value} } }`;
}

function meetAll(
  { grants }: PlacedCapability,
  asked: unknown,
  allowed: readonly AllowedValue[],
): readonly AllowedValue[] {
  return allowed.flatMap(({ value, ...from }) => {
    const both = grants.meet(asked, value);
    return both === null ? [] : [{ ...from, value: both }];
  });
}

/** Refuses a tool that a rule names, but that has another registrant or another version. */
function refuseStranger(
  { tool, registrant, digest }: GrantSubject,
  shown: string,
  by: "registrant" | "digest",
): Decision {
  const own = by === "registrant" ? registrant : digest;
  const message = `no policy rule allows the capability "${shown}" to tool "${tool}" with the ${by} "${own}"`;
  return refuse(message, shown, "nothing", `add "${own}" to ${by}s of a policy rule that applies to the tool`);
}

function refuse(message: string, asked: string, granted: string, remedy: string): Decision {
  return { isGranted: false, message, refused: { asked, granted, remedy } };
}

/** A request of a tool that is not granted, or a part of a policy without effect. */
export interface Finding {
  /** JSON pointer into the tool's definition, or into the engine's options. */
  readonly pointer: string;
  readonly reason: string;
  /** The change that fixes it. */
  readonly remediation: string;
}

/** The requests of a tool that the policy refuses for every call. */
export function findUncovered(
  grants: Grants,
  subject: PolicySubject,
  requested: CapabilityRequest,
): readonly Finding[] {
  return Object.keys(requested).flatMap((name) => {
    const pointer = `/capabilities${pointerSegment(name)}`;
    const unreadable = findUnreadable(grants, requested, name, pointer);
    if (unreadable !== null) return [unreadable];
    const decision = grants.decide({ ...subject, requested, narrowed: undefined }, name);
    if (!decision.isGranted) {
      if (!isGiven(requested, name)) return [];
      return [{ pointer, reason: decision.message, remediation: decision.refused.remedy }];
    }
    const { capability, granted } = decision;
    const asked = capability.grants.read(requested[name], "request");
    const uncovered = capability.grants.uncovered(
      asked,
      granted.map(({ value }) => value),
    );
    return uncovered.map((part) => ({
      pointer: `${pointer}${part.pointer}`,
      reason: `the policy does not allow tool "${subject.tool}" ${part.asked}`,
      remediation: `add it to "${name}" of a policy rule that applies to the tool, or ask for less`,
    }));
  });
}

function findUnreadable(grants: Grants, requested: CapabilityRequest, name: string, pointer: string): Finding | null {
  try {
    if (isGiven(requested, name)) grants.capabilities.get(name)?.grants.read(requested[name], "request");
    return null;
  } catch (error) {
    const said = error instanceof TypeError ? error.message : "";
    const at = said.indexOf(":");
    const inner = at < 0 ? "" : said.slice(0, at);
    return {
      pointer: `${pointer}${inner}`,
      reason: "the request cannot be read, so all of it is refused",
      remediation: `it ${said.slice(at + 1).trim() || "has another form"}`,
    };
  }
}
