import type { Capability, CapabilityRequest, Refused } from "./capabilities/capability.ts";
import { type Allowed, isGiven, type Policy, ReadPolicy, type PolicySubject } from "./policy.ts";

/** Whose grants are asked for, and what of them. */
export interface GrantSubject extends PolicySubject {
  /** What the tool asks for. */
  readonly requested: CapabilityRequest;
  /** What the call is narrowed to, where it is. */
  readonly narrowed: CapabilityRequest | undefined;
}

/** What a call is given of a capability: one value for each rule that gives something; or why it is given nothing. */
export type Decision =
  | { readonly isGranted: true; readonly capability: Capability; readonly granted: readonly Allowed[] }
  | { readonly isGranted: false; readonly message: string; readonly refused: Refused };

const NAME_SHOWN = 64;

/** Granted = requested ∩ policy ∩ narrowed. */
export class Grants {
  readonly capabilities: ReadonlyMap<string, Capability>;
  readonly #policy: ReadPolicy;

  /** Throws a `TypeError` where the policy is none. */
  constructor(capabilities: ReadonlyMap<string, Capability>, policy: Policy) {
    this.capabilities = capabilities;
    this.#policy = new ReadPolicy(policy, capabilities);
  }

  /** What the policy's rules name that there is not. */
  unknown(): ReturnType<ReadPolicy["unknown"]> {
    return this.#policy.unknown(this.capabilities);
  }

  decide(subject: GrantSubject, name: string): Decision {
    try {
      return this.#decide(subject, name);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      // Tools' requests are read when they are registered, and a policy when the engine starts: calls' are not.
      const message = `what is asked for of "${name.slice(0, NAME_SHOWN)}" cannot be read: it ${error.message.replace(/^: /, "")}`;
      return refuse(message, name.slice(0, NAME_SHOWN), "nothing", "write it as a tool's capabilities are written");
    }
  }

  #decide(subject: GrantSubject, name: string): Decision {
    const shown = name.slice(0, NAME_SHOWN);
    const { tool, requested, narrowed } = subject;
    const capability = this.capabilities.get(name);
    if (!isGiven(requested, name)) {
      const remedy = `ask for it in the tool's capabilities: { "${shown}": … }, and allow it in a rule of the policy`;
      return refuse(`tool "${tool}" does not ask for the capability "${shown}"`, shown, "nothing", remedy);
    }
    if (capability === undefined) {
      const remedy = "give it to the engine in its option capabilities";
      return refuse(`there is no capability "${shown}" in this engine`, shown, "nothing", remedy);
    }
    const { grants } = capability;
    const allowed = this.#policy.allowed(subject, name);
    const remedy = `add it to a rule of the policy that speaks of the tool: { "tools": ["${tool}"], "allow": { "${shown}": … } }`;
    if (allowed.length === 0) {
      return refuse(`no policy rule allows the capability "${shown}" to tool "${tool}"`, shown, "nothing", remedy);
    }
    const asked = grants.read(requested[name], "request");
    const agreed = meetAll(capability, asked, allowed);
    if (agreed.length === 0) {
      const given = allowed.map(({ value }) => grants.describe(value)).join("; ");
      const message = `the policy allows tool "${tool}" nothing of what it asks for of "${shown}"`;
      return refuse(message, grants.describe(asked), given, remedy);
    }
    if (narrowed === undefined) return { isGranted: true, capability, granted: agreed };
    const given = isGiven(narrowed, name) ? meetAll(capability, grants.read(narrowed[name], "narrowing"), agreed) : [];
    if (given.length > 0) return { isGranted: true, capability, granted: given };
    return refuse(`this call was not given "${shown}"`, shown, "nothing", "add it to the call's option capabilities");
  }
}

function meetAll({ grants }: Capability, asked: unknown, allowed: readonly Allowed[]): readonly Allowed[] {
  return allowed.flatMap(({ value, ...from }) => {
    const both = grants.meet(asked, value);
    return both === null ? [] : [{ ...from, value: both }];
  });
}

function refuse(message: string, asked: string, granted: string, remedy: string): Decision {
  return { isGranted: false, message, refused: { asked, granted, remedy } };
}
