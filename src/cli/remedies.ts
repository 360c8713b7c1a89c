import type { ErrorCode } from "../kernel/base/errors.ts";
import type { Remedy } from "../kernel/base/remedy.ts";
import { say } from "./output.ts";

/** An error, as far as what to do about it depends on it. */
interface Remediable {
  readonly code: ErrorCode;
  readonly remedies?: readonly Remedy[];
}

/** Prints what can be pasted, each with its place; where there is nothing, which page says what to do. */
export function sayWhatToDo({ code, remedies = [] }: Remediable): void {
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
