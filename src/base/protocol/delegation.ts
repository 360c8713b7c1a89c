/** Capabilities of which a worker machine can carry something out itself, where a rule of the policy lets it. */
export const ON_MACHINES = ["fetch", "kv"] as const;

export type OnMachines = (typeof ON_MACHINES)[number];

/** What the machines that run calls may carry out for them. */
export interface Delegated {
  /** What is granted of each capability, by those rules that let machines carry it out: JSON data. */
  readonly grants: { readonly [name in OnMachines]?: readonly unknown[] };
  /** Which store the server has for a capability that keeps things: a machine that has another one leaves it to the server. */
  readonly stores: { readonly [name in OnMachines]?: string };
}

/** What the machine that runs a call may carry out for it. */
export interface Delegation extends Delegated {
  /** Names the call: what is written on its behalf is written once by that name, and the step that asks. */
  readonly name: string;
}

/** What came of an ask that a machine was to carry out. */
export interface DelegatedAnswer<Answer> {
  readonly step: number;
  readonly attempt: number;
  /** `null`: it was refused there, so that it is the broker's to answer. */
  readonly answer: Answer | null;
  /** How many answers that start of the call had heard before this one. Nothing where it was over before it could hear it. */
  readonly heard?: number;
  readonly outcome: "ok" | "denied" | "failed" | "limit";
  readonly durationMs: number;
  /** What the machine has used by now of what the capability bounds by itself. */
  readonly used?: readonly number[];
  /** Where a refusal could not be left to the broker: its words. */
  readonly refused?: { readonly asked: string; readonly granted: string; readonly remedy: string };
}
