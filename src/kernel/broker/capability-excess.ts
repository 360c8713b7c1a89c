import type { Limits } from "../base/limits.ts";
import { ENGINE_HELD, TENANT_HELD } from "../base/tenant-account.ts";
import type { Refused } from "./capabilities/capability.ts";

/** A limit that a capability call exceeds. */
export type Excess =
  /** The call's own limits. */
  | { readonly kind: "capabilityCalls" | "capabilityBytes" }
  /** Memory that the host holds for a tenant, or for all. */
  | { readonly kind: "held" }
  | { readonly kind: "input"; readonly length: number; readonly inputBytes: number }
  | { readonly kind: "waiting"; readonly waitingMax: number };

const MIB = 1024 * 1024;

/** Says what happened, what is granted, and what to do. `asked`: name of the capability call. */
export function explainExcess(
  excess: Excess,
  asked: string,
  { capabilityCalls, capabilityBytes }: Pick<Limits, "capabilityCalls" | "capabilityBytes">,
): { readonly reason: string; readonly refused: Refused } {
  switch (excess.kind) {
    case "capabilityCalls":
      return ofCall(asked, `make ${capabilityCalls} capability calls`, excess.kind);
    case "capabilityBytes":
      return ofCall(asked, `exchange ${capabilityBytes} bytes with the host`, excess.kind);
    case "held": {
      const reason =
        "the host has no memory left for it: until a call ends, the host keeps what it asked and was answered, to run the call again where its executor is lost";
      const [tenant, engine] = [TENANT_HELD.journalBytes / MIB, ENGINE_HELD.journalBytes / MIB];
      const granted = `${tenant} MiB for the running calls of a tenant, ${engine} MiB for those of all`;
      return {
        reason,
        refused: { asked, granted, remedy: "let fewer such calls run at once, or exchange less in each" },
      };
    }
    case "input": {
      const granted = `${excess.inputBytes} characters`;
      const remedy = "split them into several capability calls";
      const refused = { asked: `${excess.length} characters of JSON`, granted, remedy };
      return { reason: `the arguments of ${asked} are too long`, refused };
    }
    case "waiting": {
      const granted = `${excess.waitingMax} at once`;
      const remedy = "make fewer at once: wait for some of them before making more";
      const reason = "too many capability calls of the tenant wait for the host";
      return { reason, refused: { asked, granted, remedy } };
    }
  }
}

function ofCall(asked: string, granted: string, limit: keyof Limits) {
  const refused = { asked, granted, remedy: `raise limits.${limit} of the tool` };
  return { reason: `a call may ${granted}`, refused };
}
