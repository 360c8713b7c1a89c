import { DEFAULT_LIMITS, MAX_LIMITS, NAMES } from "../../src/kernel/base/limits.ts";
import { membersOf } from "./declarations.ts";
import { code, page, table } from "./markdown.ts";

export function limitsPage(): string {
  const meanings = new Map(membersOf("Limits").map(({ name, doc }) => [name, doc]));
  const rows = NAMES.map((name) => [
    code(name),
    `${DEFAULT_LIMITS[name]}`,
    `${MAX_LIMITS[name]}`,
    meanings.get(name) ?? "",
  ]);
  return page("Limits", [
    "Every call has these limits. A tool asks for its own in `limits`, a call for others, and the engine's `maxLimits` bounds both. `inputBytes`, `outputBytes`, `logBytes`, `capabilityCalls` and `capabilityBytes` cost the host: a tool gets no more of them than the engine's own `limits` say, unless `maxLimits` names the limit.",
    table(["limit", "default", "ceiling", "what it bounds"], rows),
    "Only the tool and the engine set `memoryMb`: the heap belongs to the tool's isolate. The configuration's names are in [config.md](config.md), the codes in [errors](errors/index.md).",
  ]);
}
