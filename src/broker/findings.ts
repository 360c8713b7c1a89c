import type { CapabilityRequest } from "./capabilities/capability.ts";
import { pointerSegment } from "../base/json.ts";
import type { Grants } from "./grants.ts";
import { isGiven, type PolicySubject } from "./policy.ts";

/** Something that a tool asks for and will not get, or that a policy says in vain. */
export interface Finding {
  /** Where: a JSON pointer into the tool's definition, or into the engine's options. */
  readonly pointer: string;
  readonly reason: string;
  /** What to change. */
  readonly remediation: string;
}

/** What a tool will be refused, whatever it is called with: known before anything of it runs. */
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
      remediation: `add it to "${name}" of a policy rule that speaks of the tool, or ask for less`,
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
