import { matchesName } from "../../base/name-patterns.ts";
import type { ApprovalRule } from "../../broker/approval-rules.ts";
import type { Policy } from "../../broker/policy.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { EngineCall } from "../call/engine-call.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { ArgumentChecks } from "./argument-check.ts";

/** The approval that a call needs before it runs. */
export interface NeededApproval {
  /** `tool`, `listener`, or a rule as `policy.approvals[0]`. */
  readonly from: string;
  readonly message: string;
  readonly self: boolean;
  readonly by: readonly string[];
  /** `null`: as long as the call is kept. */
  readonly expiresMs: number | null;
}

/** One request for an approval, whose condition is not decided yet. */
interface Voice extends NeededApproval {
  readonly when: ApprovalRule["when"];
  /** Whether it waives the other rules of the policy. */
  readonly waives: boolean;
}

/** Whether a call is stored before it begins. */
export function isDurable({ durable, undo }: ExecuteOptions): boolean {
  return durable === true || undo !== undefined;
}

/** Whether calls of a tool may need an approval: without a look at their arguments. */
export function mayNeedApproval({ info }: RegisteredTool, { approvals }: Policy, tenant: string): boolean {
  // Runs for every call, of which few need an approval.
  if (info.approval === undefined && approvals === undefined) return false;
  return info.approval !== undefined || (approvals ?? []).some((rule) => isAbout(rule, info, tenant));
}

/** The approval that a call with these arguments needs; `null` for none. `asked`: the reason of a listener. */
export async function neededApproval(
  call: Pick<EngineCall, "callId" | "tool" | "tenant" | "limits" | "options" | "parent">,
  args: string,
  {
    policy,
    checks,
    asked,
  }: { readonly policy: Policy; readonly checks: ArgumentChecks; readonly asked: string | null },
): Promise<NeededApproval | null> {
  const { info } = call.tool;
  const holds = async ({ when }: Voice): Promise<boolean> =>
    when === undefined || (await checks.matches(call, when, args));
  const rules = (policy.approvals ?? []).flatMap((rule, at) =>
    isAbout(rule, info, call.tenant) ? [voiceOf(rule, at)] : [],
  );
  const voices: Voice[] = [];
  for (const voice of rules) if (await holds(voice)) voices.push(voice);
  const needed = voices.some(({ waives }) => waives) ? [] : voices;
  const own = toolVoice(info.approval);
  if (own !== null && (await holds(own))) needed.unshift(own);
  if (asked !== null) needed.unshift({ ...PLAIN, from: "listener", message: asked });
  const [first] = needed;
  if (first === undefined) return null;
  const ends = needed.flatMap(({ expiresMs }) => expiresMs ?? []);
  return {
    from: first.from,
    message: first.message,
    // The strictest setting applies.
    self: needed.every(({ self }) => self),
    by: needed.find(({ by }) => by.length > 0)?.by ?? [],
    expiresMs: ends.length === 0 ? null : Math.min(...ends),
  };
}

const PLAIN: Omit<Voice, "from" | "message"> = { self: false, by: [], expiresMs: null, when: undefined, waives: false };

function toolVoice(approval: RegisteredTool["info"]["approval"]): Voice | null {
  if (approval === undefined) return null;
  const { when, message = "the tool asks for it" } = approval === "always" ? {} : approval;
  return { ...PLAIN, from: "tool", message, when };
}

function voiceOf({ when, message, self = false, by = [], expiresMs, approval }: ApprovalRule, at: number): Voice {
  const from = `policy.approvals[${at}]`;
  const waives = approval === "never";
  return { from, message: message ?? `${from} asks for it`, when, self, by, expiresMs: expiresMs ?? null, waives };
}

function isAbout(
  { tools, tags, tenants, writes }: ApprovalRule,
  info: Pick<RegisteredTool["info"], "name" | "tags" | "annotations">,
  tenant: string,
): boolean {
  if (writes === true && info.annotations.readOnly === true) return false;
  const isNamed = (patterns: readonly string[] | undefined, names: readonly string[]): boolean =>
    patterns === undefined || patterns.some((pattern) => names.some((name) => matchesName(pattern, name)));
  return isNamed(tools, [info.name]) && isNamed(tags, info.tags) && isNamed(tenants, [tenant]);
}
