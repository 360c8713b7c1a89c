import { BoundedCache } from "../../base/bounded-cache.ts";
import { parseForWriting } from "../../base/exact-json.ts";
import { isObject, type JsonSchema, nameOfSegment } from "../../base/json.ts";
import type { DetailPart, DetailTexts } from "./call-record.ts";
import { storedTurns } from "./stored-turns.ts";

const { isRawJSON } = JSON as typeof JSON & { readonly isRawJSON: (value: unknown) => boolean };

const UTF8 = new TextDecoder();

export const REDACTED = "[redacted]";

/** Maximum schemas read for one value by default: hostile ones may refer to each other without an end. */
const STEPS_MAX = 1_000_000;
/** Texts of schemas whose parsed form is remembered. */
const REMEMBERED_MAX = 64;

/** Whether a tool's schemas, as JSON, may declare a password: then they are sent with its details. */
export function mayHidePasswords(schemas: string): boolean {
  return schemas.includes('"writeOnly":true') || schemas.includes('"password"');
}

/** A detail as it is stored, and the further inputs of a replay, both as JSON. */
export interface WrittenDetail {
  readonly json: string;
  readonly run: string | null;
}

/** The record of the session of a call without capability calls. */
const NOTHING_TOLD = ['{"asks":[],"asksOmitted":0}', '{"asks":[],"answers":[]}'] as const;

/** Writes details as they are stored: without the values that the tool's schemas declare as passwords. */
export class DetailText {
  readonly #parsed = new BoundedCache<readonly [input: JsonSchema, output: JsonSchema]>(REMEMBERED_MAX);

  write(given: DetailTexts): WrittenDetail {
    const omitted: DetailPart[] = [...given.omitted];
    const part = (name: DetailPart, make: () => string | null): string => {
      try {
        return make() ?? "null";
      } catch {
        // It is nested too deeply, its schema is too large, or it has another type than declared.
        omitted.push(name);
        return "null";
      }
    };
    const { schemas } = given;
    const [input, output] = schemas === null ? [true, true] : this.#schemasOf(schemas);
    const args = part("arguments", () => redacted(given.arguments, null, input, schemas !== null));
    const out = part("output", () => redacted(given.output, given.outputAt, output, schemas !== null));
    const logs = part("logs", () => linesOf(given.logs));
    const [asks = "", journal = ""] = given.told === null ? NOTHING_TOLD : UTF8.decode(given.told).split("\n");
    if (journal === "" && given.run !== null) omitted.push("journal");
    const run = given.run === null || omitted.length > 0 ? null : `${given.run.slice(0, -1)},${journal.slice(1)}`;
    const members = `"arguments":${args},"output":${out},"error":${given.error ?? "null"},"logs":${logs}`;
    const more = `${asks.slice(1, -1)},"turns":${JSON.stringify(storedTurns(given.turns))},"explanation":${given.explanation ?? "null"}`;
    return {
      json: `{${members},${more},"isReplayable":${run !== null},"omitted":${JSON.stringify(omitted)}}`,
      run,
    };
  }

  #schemasOf(text: string): readonly [JsonSchema, JsonSchema] {
    return this.#parsed.getOrMake(text, () => {
      const [input, output] = JSON.parse(text) as readonly [JsonSchema, JsonSchema | null];
      return [input, output ?? true];
    });
  }
}

/** A value as JSON, or the part of it at a place. Text without changes stays as it is. */
function redacted(json: string | null, place: string | null, schema: JsonSchema, isHiding: boolean): string | null {
  if (json === null || (place === null && !isHiding)) return json;
  const whole = parseForWriting(json);
  const value = place === null ? whole : isObject(whole) ? whole[nameOfSegment(place.slice(1))] : null;
  return JSON.stringify(isHiding ? redact(value, schema) : value) ?? null;
}

function linesOf(logs: string): string {
  if (logs === "") return "[]";
  const lines = JSON.parse(logs) as readonly (readonly [level: string, message: string])[];
  return JSON.stringify(lines.map(([level, message]) => ({ level, message })));
}

/** Number of schemas that may still be read. */
export interface RedactionSteps {
  left: number;
}

/**
 * A copy of a value with `[redacted]` in place of each value that its schema declares as `writeOnly` or a password, in
 * any of the schema's branches. Throws a `RangeError` if that takes more than the given steps.
 */
export function redact(value: unknown, schema: JsonSchema, steps: RedactionSteps = { left: STEPS_MAX }): unknown {
  return new Redaction(schema, steps).redact(value, [schema]);
}

const LISTS = ["allOf", "anyOf", "oneOf"] as const;
const BRANCHES = ["if", "then", "else", "not"] as const;

class Redaction {
  readonly #root: JsonSchema;
  readonly #steps: RedactionSteps;

  constructor(root: JsonSchema, steps: RedactionSteps) {
    this.#root = root;
    this.#steps = steps;
  }

  /** `schemas`: all that apply to the value, or may apply. */
  redact(value: unknown, schemas: readonly unknown[]): unknown {
    const applied = this.#resolve(schemas);
    if (applied.some(isPassword)) return REDACTED;
    if (applied.length === 0 || typeof value !== "object" || value === null) return value;
    if (isRawJSON(value)) return value;
    if (Array.isArray(value)) return value.map((item, at) => this.redact(item, applied.flatMap(itemSchemas(at))));
    const members = Object.entries(value).map(([name, member]) => [
      name,
      this.redact(member, applied.flatMap(memberSchemas(name))),
    ]);
    return Object.fromEntries(members);
  }

  /** The schemas, with all schemas to which they refer for the same value. */
  #resolve(schemas: readonly unknown[]): readonly Readonly<Record<string, unknown>>[] {
    const found = new Set<Readonly<Record<string, unknown>>>();
    const left = [...schemas];
    while (left.length > 0) {
      if (--this.#steps.left < 0) throw new RangeError("the schema has too many parts");
      const schema = left.pop();
      if (!isObject(schema) || found.has(schema)) continue;
      found.add(schema);
      for (const name of LISTS) if (Array.isArray(schema[name])) left.push(...schema[name]);
      for (const name of BRANCHES) if (schema[name] !== undefined) left.push(schema[name]);
      left.push(...valuesOf(schema["dependentSchemas"]), ...valuesOf(schema["dependencies"]));
      for (const name of ["$ref", "$dynamicRef", "$recursiveRef"]) left.push(...this.#referred(schema[name]));
    }
    return [...found];
  }

  /** The target of a reference. One that is not a pointer into the schema may refer to any named part of it. */
  #referred(reference: unknown): readonly unknown[] {
    if (typeof reference !== "string") return [];
    if (reference === "#") return [this.#root];
    if (reference.startsWith("#/")) {
      const names = decodeURIComponent(reference.slice(2)).split("/").map(nameOfSegment);
      let part: unknown = this.#root;
      for (const name of names) part = Array.isArray(part) ? part[Number(name)] : isObject(part) ? part[name] : null;
      return [part];
    }
    if (!isObject(this.#root)) return [];
    return [this.#root, ...valuesOf(this.#root["$defs"]), ...valuesOf(this.#root["definitions"])];
  }
}

function isPassword(schema: Readonly<Record<string, unknown>>): boolean {
  return schema["writeOnly"] === true || schema["format"] === "password";
}

function valuesOf(part: unknown): readonly unknown[] {
  return isObject(part) ? Object.values(part) : [];
}

function itemSchemas(at: number): (schema: Readonly<Record<string, unknown>>) => readonly unknown[] {
  return ({ items, prefixItems, additionalItems, unevaluatedItems, contains }) => {
    const listed: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = [additionalItems, unevaluatedItems, contains, Array.isArray(items) ? null : items];
    return [listed[at], ...rest];
  };
}

/** Schemas of a member. Patterns are not tried, as they may take any time: each may match. */
function memberSchemas(name: string): (schema: Readonly<Record<string, unknown>>) => readonly unknown[] {
  return ({ properties, patternProperties, additionalProperties, unevaluatedProperties }) => {
    const own = isObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [];
    const others = own.length === 0 ? [additionalProperties, unevaluatedProperties] : [];
    return [...own, ...others, ...valuesOf(patternProperties)];
  };
}
