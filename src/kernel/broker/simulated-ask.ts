import type { CapabilityRequest } from "./capabilities/capability.ts";
import type { Grants } from "./grants.ts";
import { type PolicySubject, ruleAt } from "./policy.ts";
import type { PlacedCapability } from "./thread/host-capability.ts";

/** A capability call of an earlier call, as its record has it. */
export interface EarlierAsk {
  readonly capability: string;
  readonly method: string;
  readonly target: string | null;
  /** Method of a request of HTTP; older records have none. */
  readonly httpMethod?: string | null;
}

/** Answer of a policy. `unknown`: the record of the call has too few details. */
export interface SimulatedAnswer {
  readonly outcome: "granted" | "denied" | "unknown";
  /** The first rule that grants the capability, as `policy.rules[2]`. */
  readonly rule: string | null;
}

type Subject = PolicySubject & { readonly requested: CapabilityRequest };

const DENIED: SimulatedAnswer = { outcome: "denied", rule: null };
const UNKNOWN: SimulatedAnswer = { outcome: "unknown", rule: null };

/**
 * The answer of grants to a capability call. Looks at origins, mounts and names, as records have no arguments; opens
 * nothing. A call that may have read or written counts as its tool's request. `usual`: the grants under which it was
 * answered, which narrow this down.
 */
export function simulateAsk(grants: Grants, subject: Subject, ask: EarlierAsk, usual: Grants | null): SimulatedAnswer {
  const decision = grants.decide({ ...subject, narrowed: undefined }, ask.capability);
  if (!decision.isGranted) return DENIED;
  const { capability, granted } = decision;
  const possible = needsOf(ask, capability);
  if (possible === "nothing") return grantedBy(granted[0]?.rule);
  if (possible === "unknown") return UNKNOWN;
  const own = [{ rule: 0, value: capability.grants.read(subject.requested[ask.capability], "request") }];
  const needs = possible.filter((need) => coveringRule(capability, need, own) !== null);
  if (needs.length === 0) return DENIED;
  const covering = needs.map((need) => coveringRule(capability, need, granted));
  if (covering.every((one) => one !== null)) return grantedBy(covering[0]);
  if (covering.every((one) => one === null)) return DENIED;
  if (usual === null) return UNKNOWN;
  const before = usual.decide({ ...subject, narrowed: undefined }, ask.capability);
  const wasPossible = (need: unknown): boolean =>
    before.isGranted && coveringRule(before.capability, need, before.granted) !== null;
  const isSafe = needs.every((need, at) => covering[at] !== null || !wasPossible(need));
  const isLost = needs.every((need, at) => covering[at] === null || !wasPossible(need));
  if (isSafe === isLost) return UNKNOWN;
  return isSafe ? grantedBy(covering.find((one) => one !== null)) : DENIED;
}

function grantedBy(rule: number | null | undefined): SimulatedAnswer {
  return { outcome: "granted", rule: ruleAt(rule ?? 0) };
}

function coveringRule(
  { grants }: PlacedCapability,
  need: unknown,
  granted: readonly { readonly rule: number; readonly value: unknown }[],
): number | null {
  try {
    const asked = grants.read(need, "request");
    const one = granted.find(({ value }) => grants.uncovered(asked, [value]).length === 0);
    return one?.rule ?? null;
  } catch {
    // The target of a hostile tool is no origin and no name.
    return null;
  }
}

/** Requests one of which is the capability call's own. */
function needsOf(
  { capability, method, target, httpMethod }: EarlierAsk,
  placed: PlacedCapability,
): readonly unknown[] | "nothing" | "unknown" {
  switch (capability) {
    case "fetch": {
      const origin = target === null ? undefined : URL.parse(target.replace(/^ws(?=s?:)/i, "http"))?.origin;
      // A web socket begins with a GET.
      const name = method === "connect" ? "GET" : httpMethod;
      if (origin === undefined || origin === "null" || typeof name !== "string") return "unknown";
      return [{ origins: [origin], methods: [name] }];
    }
    case "fs": {
      const [, mount] = /^\/([^/]+)/.exec(target ?? "") ?? [];
      if (mount === undefined) return "unknown";
      const isRead = "methods" in placed ? placed.methods[method]?.isRead : undefined;
      // Some methods read or write, depending on their arguments.
      const modes = isRead === true ? ["ro"] : isRead === undefined ? ["rw"] : ["ro", "rw"];
      return modes.map((mode) => ({ [mount]: { mode } }));
    }
    case "env":
    case "tools":
      return target === null ? "unknown" : [[target]];
    default:
      return "nothing";
  }
}
