import type { JsonValue } from "../json.ts";
import type { ToolScript } from "../protocol/script.ts";
import { Redactor } from "./redactor.ts";

/** Shorter strings may occur in a text by chance; longer ones are not keys. */
const [VALUE_MIN, VALUE_MAX] = [8, 4_096];
const VALUES_MAX = 100;
/** Limit of all values together: the table grows with them. Shorter values, which are rather keys, come first. */
const CHARACTERS_MAX = 8 * 1024;
const NESTING_MAX = 32;

interface NamedValue {
  readonly name: string;
  readonly value: string;
}

/**
 * Replaces the strings of a tool's config, which may be keys, in the logs, reports and errors of its calls. The output
 * is unchanged. Runs in the tool's isolate, so that the call is charged for it.
 */
export class ConfigRedactor {
  readonly #values: readonly NamedValue[];
  /** Made for the first text: most calls write none. */
  #redactor: Redactor | null = null;

  private constructor(values: readonly NamedValue[]) {
    this.#values = values;
  }

  /** `null` if a config has no string that could be a key. */
  static of(config: JsonValue): ConfigRedactor | null {
    const found = [...valuesIn(config, "config", 0)].toSorted((one, other) => one.value.length - other.value.length);
    const values: NamedValue[] = [];
    let characters = 0;
    for (const each of found) {
      characters += each.value.length;
      if (values.length >= VALUES_MAX || characters > CHARACTERS_MAX) break;
      values.push(each);
    }
    return values.length === 0 ? null : new ConfigRedactor(values);
  }

  /** Redacts a text. Never throws. */
  text(text: string): string {
    this.#redactor ??= new Redactor(this.#values.map(({ name, value }) => ({ value, shown: `(${name})` })));
    return this.#redactor.text(text);
  }
}

/** Redactors by script: a worker keeps a script as long as it may run it. */
const REDACTORS = new WeakMap<ToolScript, ConfigRedactor | null>();

/** The redactor of a tool's config, if its contract has keys there, and if its contract is not known yet. */
export function configRedactorOf(script: ToolScript): ConfigRedactor | null {
  if (script.showsConfig === true) return null;
  let redactor = REDACTORS.get(script);
  if (redactor === undefined) {
    redactor = ConfigRedactor.of(JSON.parse(script.config) as JsonValue);
    REDACTORS.set(script, redactor);
  }
  return redactor;
}

function* valuesIn(value: JsonValue, name: string, depth: number): Generator<NamedValue> {
  if (typeof value === "string") {
    if (value.length >= VALUE_MIN && value.length <= VALUE_MAX) yield { name, value };
  } else if (typeof value === "object" && value !== null && depth < NESTING_MAX) {
    for (const [key, one] of Object.entries(value)) yield* valuesIn(one, nameOf(key, name), depth + 1);
  }
}

/** Entries of a list take the name of the list. */
function nameOf(key: string, parent: string): string {
  return /^\d+$/.test(key) ? parent : key.replaceAll(/\W/g, "_").slice(0, 64);
}
