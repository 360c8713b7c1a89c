import { isObject, type JsonValue, pointerSegment } from "../../../kernel/base/json.ts";
import { ContractError } from "../../../kernel/tool/contracts/contract.ts";

/** A value in an AgentSpace document with its JSON pointer, for error messages. */
export interface Place {
  readonly value: unknown;
  readonly pointer: string;
}

export type Members = Readonly<Record<string, unknown>>;

/** An object of JSON values. */
export type JsonMembers = Readonly<Record<string, JsonValue>>;

const SHOWN_CHARACTERS = 64;

/** The error of a value, for its reader to throw. */
export function wrong({ pointer }: Place, problem: string): ContractError {
  return new ContractError("agentspace", pointer, problem);
}

/** A member of an object, with its pointer. */
export function memberOf(members: Members, { pointer }: Place, name: string): Place {
  const value = Object.hasOwn(members, name) ? members[name] : undefined;
  return { value, pointer: `${pointer}${pointerSegment(name)}` };
}

export function readMembers(place: Place): Members {
  if (isObject(place.value)) return place.value;
  throw wrong(place, place.value === undefined ? "is required, an object" : "must be an object");
}

/** Not checked deeply: serializing the object reveals values that are not JSON. */
export function readJsonMembers(place: Place): JsonMembers {
  return readMembers(place) as JsonMembers;
}

export function readText(place: Place, maxCharacters: number): string {
  const { value } = place;
  if (value === undefined) throw wrong(place, "is required, a string");
  if (typeof value !== "string" || value === "") throw wrong(place, "must be a string that is not empty");
  if (value.length > maxCharacters) throw wrong(place, `must have at most ${maxCharacters} characters`);
  return value;
}

export function readNumber(place: Place): number {
  if (typeof place.value === "number" && Number.isFinite(place.value)) return place.value;
  throw wrong(place, "must be a number");
}

export function readFlag(place: Place): boolean {
  if (typeof place.value === "boolean") return place.value;
  throw wrong(place, "must be true or false");
}

export function readList(place: Place, maxItems: number): readonly Place[] {
  const { value, pointer } = place;
  if (!Array.isArray(value)) throw wrong(place, "must be a list");
  if (value.length > maxItems) throw wrong(place, `must have at most ${maxItems} entries`);
  return value.map((one: unknown, at) => ({ value: one, pointer: `${pointer}/${at}` }));
}

/** `read` for optional members. `undefined` and null are the same: some stores write missing members as null. */
export function readOptional<T>(place: Place, read: (place: Place) => T): T | undefined {
  return place.value === undefined || place.value === null ? undefined : read(place);
}

/** Shortens a hostile value for a message. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, SHOWN_CHARACTERS));
  return Array.isArray(value) ? "a list" : value === null ? "null" : `a value of type ${typeof value}`;
}
