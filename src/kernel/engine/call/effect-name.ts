import type { Operation } from "../../guest/host.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { EngineCall } from "./engine-call.ts";

/**
 * Begins the names of a call's effects: a later run that repeats one gives it the same. `undefined` where none does. A child
 * call without a record of its own begins anew, so that only the operation of a connector, which asks once, is the same.
 */
export function effectsIdOf({ waits, parent, parentStep, tool }: EngineCall): string | undefined {
  if (waits?.isStored === true) return waits.id;
  if (parent?.waits?.isStored !== true || tool.script.runtime !== "remote") return undefined;
  return `${parent.waits.id}.${parentStep}`;
}

/** Whether a tool's effect, named so, happens once however often it is asked for. */
export function isRepeatableByName({ script }: RegisteredTool): boolean {
  return script.runtime === "remote" && (JSON.parse(script.text) as Operation).isRepeatable;
}
