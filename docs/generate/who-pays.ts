import { HOST_WORK } from "./host-work.ts";
import { code, page, table } from "./markdown.ts";

export function whoPaysPage(): string {
  const rows = HOST_WORK.map(({ work, causes, bound, place, payer, test }) => [
    work,
    causes.join(", "),
    bound,
    place,
    payer,
    `[${code(test)}](../../test/${test})`,
  ]);
  return page("Who pays", [
    "Glovebox does work for tools that nobody trusts: it parses what they ask, moves their bytes, and opens what they bring. This page lists each piece of that work, its bound, the place where it runs, and who pays for it.",
    PRINCIPLES,
    table(["piece of work", "caused by", "bound", "where it runs", "who pays", "test"], rows),
    PAYING,
  ]);
}

const PRINCIPLES = `## Rules

- **Counts decide, time delays and bills.** A call ends because it asked too often or for too many bytes, never because the host was slow: a call that runs again after a lost process ends in the same way. The exception is \`cpuMs\`.
- **Whoever causes work pays for it.** Each tenant has its share of the host's time, of slots and of memory, and one that asks for more waits for itself. Work that is charged to nobody is bounded, and next in line.
- **Limits whose cost falls on the host are the operator's.** A tool may lower \`inputBytes\`, \`outputBytes\`, \`logBytes\`, \`capabilityCalls\` and \`capabilityBytes\`; only the engine's options raise them.

## Pieces of work`;

const PAYING = `## What paying means

- **The call**: its processor time is \`metadata.cpuMs\`, its memory and bytes count towards its limits, and it ends where it exceeds one.
- **The tenant**: the time is charged to its account, which [\`engine.usage()\`](../reference/exports.md) shows. It waits behind tenants that used less: while others use more than 50 ms of a second too, a tenant has 250 ms of each second, and 500 ms at once. Beyond 30 s of waiting work, its calls end with \`rate_limited\`.
- **The key**: its rate and its quotas of the [HTTP API](../how-to/keys.md).
- **The registrant**: nobody is charged for a registration; a registration that exceeds a bound fails with \`load_error\`. Only keys with the role \`admin\` register tools over HTTP.
- **The operator**: work of constant size, which no tenant can multiply.`;
