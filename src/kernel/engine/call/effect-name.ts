import type { Operation } from "../../guest/host.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { EngineCall } from "./engine-call.ts";

/**
 * Prefix of the names of a call's effects: a later run that repeats an effect gives it the same name. `undefined` if no
 * run repeats one. A child call without a record of its own starts again from its first step, so only the operation of
 * a connector, a single effect, keeps its name.
 */
export function effectsIdOf({ waits, parent, parentStep, tool }: EngineCall): string | undefined {
  if (waits?.isStored === true) return waits.id;
  if (parent?.waits?.isStored !== true || tool.script.runtime !== "remote") return undefined;
  return `${parent.waits.id}.${parentStep}`;
}

/** Whether an effect of the tool with such a name happens once, however often it is requested. */
export function isRepeatableByName({ script }: RegisteredTool): boolean {
  return script.runtime === "remote" && (JSON.parse(script.text) as Operation).isRepeatable;
}
