import type { MadeCall } from "../durable/durable-call.ts";
import type { DurableStep } from "../durable/durable-step.ts";
import type { SnippetStep } from "../durable/snippet-tables.ts";

/** A step about one call. `due` settles its waits by the clock. */
export type CallStep =
  | Exclude<
      DurableStep,
      { readonly kind: "see" | "due" | "standing" | "list" | "notes" | "told" | SnippetStep["kind"] }
    >
  | (Extract<DurableStep, { readonly kind: "due" }> & { readonly id: string });

export function idOf(step: CallStep): string {
  return "call" in step ? step.call.id : step.id;
}

/** The unchanging parts of a call that a step brings. */
export function madeOf(step: CallStep): MadeCall | null {
  return "call" in step ? step.call.made : null;
}

/** The script that a step brings. */
export function scriptOf(step: CallStep): { readonly hash: string; readonly text: string } | null {
  return madeOf(step)?.script ?? null;
}

/** Whether a step is refused beyond the room of a tenant. */
export function isBounded({ kind }: CallStep): boolean {
  return kind === "pause" || kind === "start" || kind === "append";
}

/** The parts of its call that a step needs: its head, all of it, or also the calls that may end or continue with it. */
export function needOf(step: CallStep): "head" | "whole" | "family" {
  switch (step.kind) {
    case "get":
      return step.isWhole === true ? "whole" : "head";
    case "release":
      return "head";
    case "claim":
    case "append":
    case "effects":
      return "whole";
    case "pause":
    case "start":
    case "undo":
    case "end":
    case "abandon":
    case "decide":
    case "signal":
    case "cancel":
    case "due":
      return "family";
  }
}

/** Ids of the calls for which the call of a step waits from now on. */
export function awaitedOf(step: CallStep): readonly string[] {
  return "call" in step ? step.call.waits.flatMap(({ wait }) => (wait.kind === "call" ? [wait.id] : [])) : [];
}
