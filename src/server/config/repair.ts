import { isObject, nameOfSegment } from "../../kernel/base/json.ts";
import type { Violation } from "../../kernel/base/schema/violation.ts";
import type { ConfigFix } from "./config-error.ts";
import { nearest } from "./names.ts";
import { CONFIG_SCHEMA } from "./schema.ts";
import type { Part } from "./schema-parts.ts";

export function pathOf(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map(nameOfSegment);
}

/** The part of the schema for the setting at a path. */
export function partAt(path: readonly string[]): Part | undefined {
  let part: Part | undefined = CONFIG_SCHEMA;
  for (const name of path) {
    const inner: unknown = part?.properties?.[name] ?? (/^\d+$/.test(name) ? part?.["items"] : undefined);
    part = isObject(inner) ? (inner as Part) : undefined;
  }
  return part;
}

/** The setting nearest to an unknown name, if one is close. */
export function meantBy(pointer: string): string | undefined {
  const path = pathOf(pointer);
  return nearest(path.at(-1) ?? "", Object.keys(partAt(path.slice(0, -1))?.properties ?? {}));
}

/** A repair that follows from the text alone: a misspelt name or word, or a number or a boolean in quotes. */
export function fixFor({ pointer, keyword }: Violation, whole: unknown): ConfigFix | null {
  const path = pathOf(pointer);
  const value = valueAt(whole, path);
  if (keyword === "additionalProperties") {
    const to = meantBy(pointer);
    const around = valueAt(whole, path.slice(0, -1));
    return to === undefined || (isObject(around) && Object.hasOwn(around, to)) ? null : { kind: "rename", path, to };
  }
  if (typeof value !== "string") return null;
  const { type, enum: words } = partAt(path) ?? {};
  if (keyword === "enum" && words !== undefined) {
    const word = nearest(
      value,
      words.filter((one): one is string => typeof one === "string"),
    );
    return word === undefined ? null : { kind: "value", path, value: word };
  }
  if (keyword !== "type") return null;
  if (type === "boolean" && /^(?:true|false)$/.test(value)) return { kind: "value", path, value: value === "true" };
  const isNumber = type === "integer" ? /^-?\d{1,15}$/ : /^-?\d{1,15}(?:\.\d{1,15})?$/;
  const hasNumber = (type === "integer" || type === "number") && isNumber.test(value);
  return hasNumber ? { kind: "value", path, value: Number(value) } : null;
}

function valueAt(whole: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, name)
        ? (Reflect.get(value, name) as unknown)
        : undefined,
    whole,
  );
}

/**
 * One violation for each mistake: a missing setting whose misspelt name is present is omitted, and so are the settings
 * that another of several forms would need.
 */
export function withoutEchoes(violations: readonly Violation[]): readonly Violation[] {
  const places = new Set(
    violations.filter(({ keyword }) => /^(?:one|any)Of$/.test(keyword)).map(({ pointer }) => pointer),
  );
  const meant = new Set(
    violations
      .filter(({ keyword }) => keyword === "additionalProperties")
      .map(({ pointer }) => `${around(pointer)}/${meantBy(pointer)}`),
  );
  return violations.filter(
    ({ pointer, keyword }) => keyword !== "required" || !(places.has(around(pointer)) || meant.has(pointer)),
  );
}

function around(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf("/"));
}
