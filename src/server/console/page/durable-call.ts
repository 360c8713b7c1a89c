import type { Json, Schema, ToolResult } from "./wire.ts";

/** How a wait was settled. */
export interface Settlement {
  readonly at: string;
  readonly by: string | null;
  readonly actor: string | null;
  readonly reason: string | null;
}

/** The displayed part of an approval, and the values that a decision sends back. */
export interface ApprovalWait {
  readonly kind: "approval";
  readonly tool: string | null;
  readonly version: string | null;
  readonly arguments: Json;
  readonly digest: string;
  readonly message: string;
  readonly schema: Schema | null;
  readonly from: string;
  readonly self: boolean;
  readonly by: readonly string[];
}

/** An effect with an unknown outcome. */
interface OutcomeWait {
  readonly kind: "outcome";
  readonly asked: string;
  /** JSON, or the length and digest of a long one. */
  readonly arguments: string;
}

type WaitKind =
  | ApprovalWait
  | OutcomeWait
  | { readonly kind: "signal"; readonly name: string }
  | { readonly kind: "time"; readonly until: string }
  | { readonly kind: "call"; readonly id: string };

/** One wait of a call, current or past. Times in ISO 8601. */
export type Wait = WaitKind & {
  readonly step: number;
  readonly state: string;
  readonly openedAt: string;
  readonly expiresAt: string | null;
  readonly settled: Settlement | null;
};

/** An effect of a call, done or in doubt. */
export interface DoneEffect {
  readonly step: number;
  readonly asked: string;
  readonly tool: string | null;
  readonly arguments: string | null;
  readonly target: string | null;
  readonly httpMethod: string | null;
  readonly state: string;
  readonly answeredAt: string | null;
}

export interface CallRun {
  readonly number: number;
  readonly holder: string;
  readonly begunAt: string;
  readonly endedAt: string | null;
  readonly outcome: string | null;
}

/** A call that waits, or has waited. Its effects are present if it was requested alone. */
export interface DurableCall {
  readonly id: string;
  readonly callId: string;
  readonly tool: string;
  readonly tenant: string;
  readonly parentId: string | null;
  readonly key: string | null;
  readonly state: string;
  readonly legs: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly expiresAt: string;
  readonly isStale?: boolean;
  readonly waits: readonly Wait[];
  readonly result: ToolResult | null;
  readonly effects?: readonly DoneEffect[];
  readonly effectsOmitted?: number;
  readonly runs?: readonly CallRun[];
  readonly program?: string | null;
}

export interface DurablePage {
  readonly calls: readonly DurableCall[];
  readonly cursor: string | null;
}

export type OpenApproval = Wait & ApprovalWait;
export type OpenOutcome = Wait & OutcomeWait;

/** States of calls that wait, as a filter. */
export const WAITING = "paused,in_doubt";

/** Undecided approvals of a call. */
export function openApprovals({ waits }: DurableCall): readonly OpenApproval[] {
  return waits.filter((wait): wait is OpenApproval => wait.kind === "approval" && wait.state === "open");
}

/** Effects of a call with an unknown outcome. */
export function openOutcomes({ waits }: DurableCall): readonly OpenOutcome[] {
  return waits.filter((wait): wait is OpenOutcome => wait.kind === "outcome" && wait.state === "open");
}

/** Number of open decisions about a call. */
export function undecided(call: DurableCall): number {
  return openApprovals(call).length + openOutcomes(call).length;
}
