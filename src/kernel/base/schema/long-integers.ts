import equal from "ajv/dist/runtime/equal.js";
import type { ErrorObject } from "ajv";
import { DIGITS_MAX, isLongInteger } from "../exact-json.ts";
import { nameOfSegment } from "../json.ts";

/** Long integers in checks of values by schemas. Runs inside isolates. */

/** Prefix of the keywords that replace JSON Schema's own. */
export const OWN = "glovebox:";
/** Replaces a `type` that allows numbers. */
export const NUMBER_TYPE = `${OWN}type`;

/** Whether a number or an integer is a multiple of a number. */
export function isMultiple(value: number | bigint, of: number): boolean {
  if (typeof value === "number") return of !== 0 && Number.isInteger(value / of);
  // A `bigint` has no fraction: a multiple of a decimal number is computed in whole units of its last decimal.
  const [digits = "", exponent = "0"] = String(of).split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  const places = fraction.length - Number(exponent);
  const scaled = BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, -places));
  return scaled !== 0n && (value * 10n ** BigInt(Math.max(0, places))) % scaled === 0n;
}

/** Whether a value is the digits of a long integer. Reading longer ones could take seconds. */
export function isDigits(value: unknown): value is string {
  return typeof value === "string" && value.length <= DIGITS_MAX && isLongInteger(value);
}

/** The integer in a text of digits; any other value unchanged. */
export function numberOf(value: unknown): unknown {
  return isDigits(value) ? BigInt(value) : value;
}

/** A value of an `enum`: the digits of a long integer, or any other value. */
interface AllowedValue {
  readonly digits?: string;
  readonly value?: unknown;
}

/**
 * Whether a value is among the allowed ones. A number whose literal in the schema was rounded equals every integer that
 * it may represent.
 */
export function isOneOf(given: unknown, allowed: readonly AllowedValue[]): boolean {
  return allowed.some(({ digits, value }) => {
    if (digits !== undefined) return String(given) === digits && typeof given !== "object";
    return typeof given === "bigint" ? Number(given) === value : areEqual(given, value);
  });
}

const areEqual = functionOf(equal) as (a: unknown, b: unknown) => boolean;

/** The default export of a CommonJS module: loaders differ in whether an import of it is the module itself. */
export function functionOf(imported: object): unknown {
  return typeof imported === "function" ? imported : Reflect.get(imported, "default");
}

/**
 * Replaces texts of digits by `bigint`s if a schema wants a number, as its errors show. `isWide`: the errors are
 * incomplete, so that an error of one item applies to all items. Returns whether there were any.
 */
export function readDigits(whole: { value: unknown }, errors: readonly ErrorObject[], isWide: boolean): boolean {
  let isRead = false;
  for (const { instancePath, keyword } of errors) {
    if (keyword !== NUMBER_TYPE) continue;
    const names = `/value${instancePath}`.split("/").slice(1).map(nameOfSegment);
    const last = names.pop() ?? "";
    let holders: readonly unknown[] = [whole];
    for (const name of names)
      holders = holders.flatMap((one) => (isWide && Array.isArray(one) ? one : [memberOf(one, name)]));
    for (const holder of holders) {
      const all = isWide && Array.isArray(holder) ? holder.keys().map(String) : [last];
      for (const name of all) if (readMember(holder, name)) isRead = true;
    }
  }
  return isRead;
}

function readMember(holder: unknown, name: string): boolean {
  const text = memberOf(holder, name);
  if (!isDigits(text)) return false;
  const member = { value: BigInt(text), writable: true, enumerable: true, configurable: true };
  Object.defineProperty(holder as object, name, member);
  return true;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
