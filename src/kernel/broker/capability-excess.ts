import type { Limits } from "../base/limits.ts";
import { RUN_CODE } from "../base/protocol/script.ts";
import { ENGINE_HELD, TENANT_HELD } from "../base/tenant-account.ts";
import type { Refused } from "./capabilities/capability.ts";
import { PROGRAM_TOOLS } from "./capabilities/program-tools.ts";

/** A limit that a capability call exceeds. */
export type Excess =
  /** The call's own limits. */
  | { readonly kind: "capabilityCalls" | "capabilityBytes" }
  /** Memory that the host holds for a tenant, or for all. */
  | { readonly kind: "held" }
  | { readonly kind: "input"; readonly length: number; readonly inputBytes: number }
  | { readonly kind: "waiting"; readonly waitingMax: number };

/** The caller that exceeds a limit. */
export interface LimitedCaller {
  readonly tool: string;
  /** The capability that it brings with it. */
  readonly own?: { readonly name: string } | undefined;
}

const MIB = 1024 * 1024;

/** Whether the limits are those for programs of code mode. A snippet has the limits of its tool. */
export function isProgram({ tool, own }: LimitedCaller): boolean {
  return own?.name === PROGRAM_TOOLS && tool === RUN_CODE;
}

/** The change that raises limits of a caller. `owner`: the owner of the limits, if the caller is no program. */
export function limitsRemedy(caller: LimitedCaller, limits: readonly (keyof Limits)[], owner: string): string {
  const names = limits.map((limit) => `limits.${limit}`).join(" and ");
  if (!isProgram(caller)) return `raise ${names} of ${owner}`;
  return `raise ${names} of programs: codeMode(engine, { limits }), or the setting codeMode.limits`;
}

/** Says what happened, what is granted, and what to do. `asked`: name of the capability call. */
export function explainExcess(
  excess: Excess,
  asked: string,
  caller: LimitedCaller & { readonly limits: Pick<Limits, "capabilityCalls" | "capabilityBytes"> },
): { readonly reason: string; readonly refused: Refused } {
  switch (excess.kind) {
    case "capabilityCalls":
      return ofCall(asked, `make ${caller.limits.capabilityCalls} capability calls`, excess.kind, caller);
    case "capabilityBytes":
      return ofCall(asked, `exchange ${caller.limits.capabilityBytes} bytes with the host`, excess.kind, caller);
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

function ofCall(asked: string, granted: string, limit: keyof Limits, caller: LimitedCaller) {
  const refused = { asked, granted, remedy: limitsRemedy(caller, [limit], "the tool") };
  return { reason: `a call may ${granted}`, refused };
}
