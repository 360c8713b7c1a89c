import { signal } from "@preact/signals";
import { postJson } from "../api.ts";
import { timeOf } from "../format.ts";
import type { Simulation } from "../wire.ts";

const SAMPLE = `# Part of a configuration: which tools may do what. Nothing here is written anywhere.
policy:
  rules:
    - tools: ["*"]
      allow: {}
`;

/** The text of the playground, also when another page was shown meanwhile. */
export const draft = signal(SAMPLE);

/** The subject of a simulation; empty texts for missing values. */
export interface Subject {
  readonly tool: string;
  readonly tenant: string;
  /** Id of a past call. */
  readonly call: string;
  /** The start of the simulated past calls: a time, or a distance before now. */
  readonly since: string;
}

/** Simulates the policy of the playground. */
export function simulate({ tool, tenant, call, since }: Subject, signal?: AbortSignal): Promise<Simulation> {
  const given = { ...(tool !== "" && { tool }), ...(tenant !== "" && { tenant }), ...(call !== "" && { id: call }) };
  const text = timeOf(since, Date.now());
  const body = {
    policy: draft.peek(),
    ...(text !== "" && { since: /^\d+$/.test(text) ? Number(text) : text }),
    ...(Object.keys(given).length > 0 && { call: given }),
  };
  return postJson("/v1/policy/simulations", body, signal);
}
