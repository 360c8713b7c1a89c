import { amplifier } from "../../contrib/amplifier/contract/amplifier.ts";
import { ContractError } from "../../kernel/tool/contracts/contract.ts";
import type { ModuleReport } from "../../kernel/tool/registrar.ts";
import { eventsIn } from "../../contrib/amplifier/contributions.ts";
import { type Check, error, info, languageOf, pass, warning } from "./check.ts";

/** The checked part of the description of a mounted Amplifier module. */
interface Described {
  readonly mounts?: unknown;
  readonly returned?: unknown;
  readonly parameters?: unknown;
  readonly is_async?: unknown;
}

const MOUNT = {
  javascript: "export async function mount(coordinator, config)",
  python: "async def mount(coordinator, config=None)",
} as const;

/** Amplifier's checklist, as far as a module's mount shows it. */
export function checkAmplifier({ described, name, runtime }: ModuleReport): readonly Check[] {
  const { parameters, is_async, returned, mounts } = (described ?? {}) as Described;
  const count = typeof parameters === "number" ? parameters : 0;
  return [
    pass("mount", "is exported"),
    count >= 2
      ? pass("mount", "takes a coordinator and a config")
      : error("mount", `takes ${count} parameters; it must take two, the coordinator and the config`),
    is_async === true ? pass("mount", "is async") : error("mount", `is not async; write ${MOUNT[languageOf(runtime)]}`),
    ...checkReturned(returned),
    ...checkMounted(described, name, Array.isArray(mounts) && mounts.length > 0),
    checkEvents(described),
  ];
}

function checkReturned(returned: unknown): readonly Check[] {
  switch (returned) {
    case "tool":
      return [pass("mount", "returns the tool")];
    case "cleanup":
      return [pass("mount", "returns a function for the end")];
    case "null":
      return [];
    default:
      return [error("mount", "returns neither a tool, nor a function for the end, nor null")];
  }
}

function checkMounted(described: unknown, name: string, hasMounts: boolean): readonly Check[] {
  try {
    const tools = amplifier.readModule(described, name);
    if (tools.length > 0) {
      return [pass("tool", `has name, description and execute: ${tools.map((tool) => tool.name).join(", ")}`)];
    }
  } catch (problem) {
    if (!(problem instanceof ContractError)) throw problem;
    return [error("tool", problem.message)];
  }
  const why = hasMounts ? "only what is no tool" : "nothing";
  return [info("tool", `mounts ${why} with an empty config: it may need one, or something that is not here`)];
}

/** Checks that a module registers its events, so that others can find them. */
function checkEvents(described: unknown): Check {
  const events = eventsIn(described);
  return events.length > 0
    ? pass("events", `are registered: ${events.join(", ")}`)
    : warning("events", "are not registered; call register_contributor with observability.events");
}
