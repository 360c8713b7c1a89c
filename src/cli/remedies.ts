import type { Remedy } from "../kernel/base/remedy.ts";
import { say } from "./output.ts";

/** Prints what can be pasted, each with its place. */
export function sayRemedies(remedies: readonly Remedy[] = []): void {
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
