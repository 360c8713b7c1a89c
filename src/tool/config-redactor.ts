import { Redactor } from "../capabilities/secrets/redactor.ts";
import type { JsonValue } from "../json.ts";
import type { ModuleContractName } from "../protocol/script.ts";

/** Takes a tool's configuration out of what is told to people. */
export type Redact = (text: string) => string;

/** What is shorter may stand in a text by chance. */
const VALUE_MIN = 8;
const VALUE_MAX = 4_096;
const VALUES_MAX = 100;

/**
 * Of a configuration that may hold keys: its longer texts stand in no message. `null` where it has none. What a tool answers
 * with stays as it is.
 */
export function configRedactor(config: JsonValue | undefined): Redact | null {
  const values = [...textsIn(config ?? null, "")].slice(0, VALUES_MAX);
  if (values.length === 0) return null;
  const redactor = new Redactor(values, (name) => `(${name})`);
  return (text) => redactor.text(text);
}

/** The same for a tool of a contract: that of AgentSpace has a tool's data as its place for keys. */
export function redactorFor(contract: ModuleContractName | null, config: JsonValue | undefined): Redact | null {
  return contract === "agentspace" ? configRedactor(config) : null;
}

function* textsIn(value: JsonValue, name: string): Generator<{ readonly name: string; readonly value: string }> {
  if (typeof value === "string") {
    if (value.length >= VALUE_MIN && value.length <= VALUE_MAX) yield { name, value };
    return;
  }
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) yield* textsIn(part, name === "" ? key.slice(0, 64) : name);
}
