import { HOST_WORK } from "./host-work.ts";
import { SURFACES } from "./host-work-entry.ts";
import { page, table } from "./markdown.ts";

export function whoPaysPage(): string {
  const rows = HOST_WORK.map(({ work, causes, bound, place, payer, test }) => [
    `[${work}](../../test/${test})`,
    causesOf(causes),
    bound,
    place,
    payer.replace(/^the /, ""),
  ]);
  return page("Who pays", [
    "Who causes work on the host pays for it, and each piece of that work has a bound. _All capabilities_ are those of the host (`connector`, `env`, `exec`, `fetch`, `fs`, `kv`, `native`, `secrets`), `tools` and custom ones; _all runtimes_ are `javascript`, `python`, `wasi`, `remote` and `native`; _all surfaces_ are the library, HTTP, MCP and the command line.",
    PRINCIPLES,
    table(["piece of work", "caused by", "bound", "runs in", "paid by"], rows),
    PAYING,
  ]);
}

const OF_HOST = ["connector", "env", "exec", "fetch", "fs", "kv", "native", "secrets"];
/** Names for causes that stand together in many rows, the largest first. */
const GROUPS: readonly (readonly [name: string, causes: readonly string[]])[] = [
  ["all capabilities", [...OF_HOST, "tools", "custom capabilities"]],
  ["the host's capabilities", OF_HOST],
  ["all surfaces", SURFACES],
  ["all runtimes", ["javascript", "python", "wasi", "remote", "native"]],
];

function causesOf(causes: readonly string[]): string {
  const names: string[] = [];
  let left = causes;
  for (const [name, group] of GROUPS) {
    if (!group.every((one) => left.includes(one))) continue;
    names.push(name);
    left = left.filter((one) => !group.includes(one));
  }
  return [...names, ...left].join(", ");
}

const PRINCIPLES = `## Rules

- **Counts end calls; time only delays and charges them.** A call ends because of too many requests or bytes, never because the host was slow. The exception is \`cpuMs\`.
- **The cause of work pays for it.** Each tenant has a share of the host's time, slots and memory; beyond it, only its own calls wait. Work without a payer is bounded.
- **Limits whose cost falls on the host are the operator's.** Only the engine's options raise \`inputBytes\`, \`outputBytes\`, \`logBytes\`, \`capabilityCalls\` and \`capabilityBytes\`.

## Pieces of work

Each is linked to the test of its bound. A _turn_ is one of the event loop of the thread; what is _reserved_ is for tenants that have none.`;

const PAYING = `## What paying means

- **Call**: its processor time is \`metadata.cpuMs\`, its memory and bytes count towards its limits. A call that exceeds a limit ends.
- **Tenant**: the time is charged to its account, which [\`engine.usage()\`](../reference/exports.md) shows. Its calls wait behind those of tenants that used less: while others use more than 50 ms of a second, it has 250 ms of each second, and 500 ms at once. Beyond 30 s of waiting work, its calls end with \`rate_limited\`.
- **Key**: its rate and its quotas of the [HTTP API](../how-to/keys.md).
- **Registrant**: a registration that exceeds a bound fails with \`load_error\`. Only keys with the role \`admin\` register tools over HTTP.
- **Operator**: work of constant size, which no tenant can multiply.`;
