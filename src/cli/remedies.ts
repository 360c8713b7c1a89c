import type { ErrorCode } from "../kernel/base/errors.ts";
import { isObject } from "../kernel/base/json.ts";
import type { Remedy } from "../kernel/base/remedy.ts";
import { say } from "./output.ts";

/** The parts of an error that determine the advice. */
interface Remediable {
  readonly code: ErrorCode;
  readonly remedies?: readonly Remedy[];
  readonly details?: unknown;
}

/** Prints the problems after the message's own, and texts to paste, each with its place; without any, the page with advice. */
export function sayWhatToDo({ code, remedies = [], details }: Remediable): void {
  const problems: unknown = isObject(details) ? details["errors"] : [];
  if (Array.isArray(problems)) for (const problem of problems.slice(1)) say(`and: ${String(problem)}`);
  if (remedies.length === 0) return say(`what to do: glovebox docs ${code}`);
  for (const remedy of remedies) {
    switch (remedy.kind) {
      case "command":
        say(`remedy, a command:\n${indented(remedy.command)}`);
        break;
      case "config":
        say(`remedy, in the configuration at ${remedy.pointer}:\n${indented(remedy.yaml)}`);
        break;
      case "tool":
        say(`remedy, in the tool's definition at ${remedy.pointer}:\n${indented(remedy.ts)}`);
        break;
    }
  }
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, "  ");
}
