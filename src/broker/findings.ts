import type { CapabilityRequest } from "../capabilities/capability.ts";
import type { Decision, Grants } from "./grants.ts";
import type { Subject } from "./policy.ts";

/** Something that a tool asks for and will not get, or that a policy says in vain. */
export interface Finding {
  /** Where: a JSON pointer into the tool's definition, or into the engine's options. */
  readonly pointer: string;
  readonly reason: string;
  /** What to change. */
  readonly remediation: string;
}

/** What a tool will be refused, whatever it is called with: known before anything of it runs. */
export function findUncovered(grants: Grants, subject: Subject, requested: CapabilityRequest): readonly Finding[] {
  return Object.keys(requested).flatMap((name) => {
    const pointer = `/capabilities/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    let decision: Decision;
    try {
      decision = grants.decide({ ...subject, requested, narrowed: undefined }, name);
    } catch (error) {
      return [unreadable(pointer, error)];
    }
    if (!decision.isGranted) {
      const isAsked = requested[name] !== false && requested[name] !== undefined && requested[name] !== null;
      return isAsked ? [{ pointer, reason: decision.message, remediation: decision.refused.remedy }] : [];
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

function unreadable(pointer: string, error: unknown): Finding {
  const said = error instanceof TypeError ? error.message : "";
  const at = said.indexOf(":");
  const inner = at < 0 ? "" : said.slice(0, at);
  return {
    pointer: `${pointer}${inner}`,
    reason: "the request cannot be read, so all of it is refused",
    remediation: `it ${said.slice(at + 1).trim() || "has another form"}`,
  };
}
