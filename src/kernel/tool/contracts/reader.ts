import { parseWithDigits } from "../../base/exact-json.ts";
import { describeExcess, isObject, type JsonSchema, pointerSegment } from "../../base/json.ts";
import { MAX_LIMITS } from "../../base/limits.ts";
import { ContractError } from "./contract.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Valid tool names of the engine. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** Reads the parts of a contract's messages. Throws a `ContractError` with the pointer of an invalid part. */
export class Reader {
  readonly #contract: string;

  constructor(contract: string) {
    this.#contract = contract;
  }

  fail(pointer: string, problem: string): never {
    throw new ContractError(this.#contract, pointer, problem);
  }

  object(value: unknown, pointer: string): Fields {
    return isObject(value) ? value : this.fail(pointer, `must be an object, but is ${kindOf(value)}`);
  }

  list(value: unknown, pointer: string): readonly unknown[] {
    return Array.isArray(value) ? value : this.fail(pointer, `must be a list, but is ${kindOf(value)}`);
  }

  string(value: unknown, pointer: string): string {
    return typeof value === "string" ? value : this.fail(pointer, `must be a string, but is ${kindOf(value)}`);
  }

  number(value: unknown, pointer: string): number {
    return typeof value === "number" ? value : this.fail(pointer, `must be a number, but is ${kindOf(value)}`);
  }

  strings(value: unknown, pointer: string): readonly string[] {
    return this.list(value, pointer).map((each, at) => this.string(each, pointer + pointerSegment(at)));
  }

  /** One of the allowed words. */
  word<Word extends string>(value: unknown, words: readonly Word[], pointer: string): Word {
    const found = words.find((word) => word === value);
    return found ?? this.fail(pointer, `must be ${words.map((word) => JSON.stringify(word)).join(" or ")}`);
  }

  /** A valid tool name. */
  name(value: unknown, pointer: string): string {
    const name = this.string(value, pointer);
    return NAME.test(name) ? name : this.fail(pointer, "must be 1 to 128 of A-Z a-z 0-9 _ . -");
  }

  /** An optional text. */
  description(value: unknown, pointer: string): string {
    return value === undefined || value === null ? "" : this.string(value, pointer);
  }

  /** An optional call id; an empty one counts as missing. */
  id(value: unknown, pointer: string): { readonly id?: string } {
    if (value === undefined || value === null) return {};
    const id = this.string(value, pointer);
    return id === "" ? {} : { id };
  }

  schema(value: unknown, pointer: string): JsonSchema {
    if (value === undefined || value === null) return { type: "object" };
    return typeof value === "boolean" ? value : this.object(value, pointer);
  }

  /** A call's arguments; missing ones mean an empty object. */
  arguments(value: unknown, pointer: string): Record<string, unknown> {
    return value === undefined || value === null ? {} : this.object(value, pointer);
  }

  /** Arguments as JSON text, in the form that models write; an empty text means an empty object. */
  argumentsText(value: unknown, pointer: string): Record<string, unknown> {
    const text = this.string(value, pointer);
    if (text.trim() === "") return {};
    if (text.length > MAX_LIMITS.inputBytes) {
      this.fail(pointer, `has ${text.length} characters, and ${MAX_LIMITS.inputBytes} is the most`);
    }
    const excess = describeExcess(text);
    if (excess !== null) this.fail(pointer, `is ${excess}`);
    return this.object(this.#parse(text, pointer), pointer);
  }

  #parse(text: string, pointer: string): unknown {
    try {
      return parseWithDigits(text);
    } catch (error) {
      return this.fail(pointer, `is not JSON: ${error instanceof Error ? error.message : "it cannot be read"}`);
    }
  }
}

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
