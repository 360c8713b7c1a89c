import { foreignWords } from "../wire/members.ts";
import { describeLoss } from "../../store/redis/reply.ts";
import type { RedisConnection } from "../../store/redis/connection.ts";
import type { MachineState } from "../../executor/fleet-state.ts";
import type { MachineDirectory } from "./machine-directory.ts";

const WORDS: Readonly<Record<MachineState, string>> = {
  ready: "ready",
  draining: "about to stop",
  unready: "without an executor",
  "other protocol": "of another version",
};

export const NO_MACHINE = "there is no worker machine: start one with glovebox worker";

/** Why no machine takes a server's calls, and what to do, in words for an operator; `null` where one does. */
export function problemOf(redis: RedisConnection, roll: MachineDirectory): string | null {
  const loss = describeLoss(redis);
  if (loss !== null) return loss;
  if (roll.serving.length > 0) return null;
  if (roll.misfit !== null) return roll.misfit;
  const states = [...roll.all.values()].map((machine) => roll.stateOf(machine));
  if (states.length === 0) return roll.foreign > 0 ? foreignWords(roll.foreign, "machine") : NO_MACHINE;
  const counts = Map.groupBy(states, (state) => state);
  return `no worker machine takes calls: ${[...counts].map(([state, { length }]) => `${length} ${WORDS[state]}`).join(", ")}`;
}
