import { Redactor } from "../base/redaction/redactor.ts";
import type { JsonValue } from "../base/json.ts";
import type { ToolResult } from "../base/result.ts";

/** Shorter strings may occur in a text by chance; longer ones are not keys. */
const [VALUE_MIN, VALUE_MAX] = [8, 4_096];
const VALUES_MAX = 100;
/** Limit of all values together: each error and log line is searched for every value. */
const CHARACTERS_MAX = 64 * 1024;
const NESTING_MAX = 32;

/**
 * Removes the strings of a tool's config, which may be keys, from the errors and logs of its calls. The output is
 * unchanged.
 */
export class ConfigRedactor {
  readonly #redactor: Redactor;

  private constructor(values: readonly NamedValue[]) {
    this.#redactor = new Redactor(values.map(({ name, value }) => ({ value, shown: `(${name})` })));
  }

  /** `null` if a config has no string that could be a key. */
  static of(config: JsonValue): ConfigRedactor | null {
    const values: NamedValue[] = [];
    let characters = 0;
    for (const found of valuesIn(config, "config", 0)) {
      characters += found.value.length;
      if (values.length >= VALUES_MAX || characters > CHARACTERS_MAX) break;
      values.push(found);
    }
    return values.length === 0 ? null : new ConfigRedactor(values);
  }

  text(text: string): string {
    return this.#redactor.text(text);
  }

  /** Redacts the error and the log lines; leaves the output as it is. */
  result(result: ToolResult): ToolResult {
    const { error, metadata } = result;
    if (error === null && metadata.logs.length === 0) return result;
    const logs = metadata.logs.map(({ level, message }) => ({ level, message: this.text(message) }));
    return { ...result, error: this.value(error), metadata: { ...metadata, logs } };
  }

  /** Redacts all strings in a JSON value; its structure stays the same. */
  value<Value>(value: Value): Value {
    return this.#clean(value) as Value;
  }

  #clean(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((one) => this.#clean(one));
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [this.text(name), this.#clean(one)]));
  }
}

interface NamedValue {
  readonly name: string;
  readonly value: string;
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
