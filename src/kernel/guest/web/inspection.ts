import { LINE_WIDTH, layOut } from "./inspect-layout.ts";
import { constructorName, prefixOf, tagOf } from "./inspect-names.ts";
import { describeObject } from "./inspect-objects.ts";
import { formatKey, formatNumber, more, quote } from "./inspect-text.ts";
import type { Body, InspectOptions, Printer } from "./printer.ts";

/** Maximum number of visited values, for any length of their output. */
const VISITS_MAX = 10_000;

/** Strings longer than this are broken at their line ends if they do not fit the line. */
const UNBROKEN_TEXT = 16;

/** Printed for a value that throws during inspection, such as a proxy. */
const OPAQUE = "[object that cannot be inspected]";

/** One run of the inspection: its visited objects, its position in the output, and its remaining work. */
export class Inspection implements Printer {
  readonly options: Required<InspectOptions>;
  indentation = 0;
  /** The objects that enclose the current value. */
  readonly #around: object[] = [];
  /** Circular objects, with their reference numbers. */
  readonly #circular = new Map<object, number>();
  /** The level of the last entered object. */
  #lastLevel = 0;
  #visits = 0;
  #chars = 0;

  constructor(options: Required<InspectOptions>) {
    this.options = options;
  }

  /** Whether the output limit or the work limit is reached: nothing more needs to be added. */
  get isFull(): boolean {
    return this.#chars > this.options.maxChars || this.#visits > VISITS_MAX;
  }

  /** Counts text that goes into the output, and returns it. */
  count(text: string): string {
    this.#chars += text.length;
    return text;
  }

  /** Prints a value nested within `level` objects. */
  value(value: unknown, level: number): string {
    this.#visits += 1;
    if (this.isFull) return "...";
    if ((typeof value === "object" && value !== null) || typeof value === "function") {
      const { indentation } = this;
      const depth = this.#around.length;
      try {
        return this.#object(value, level);
      } catch {
        this.indentation = indentation;
        this.#around.length = depth;
        return this.count(OPAQUE);
      }
    }
    return this.count(this.#primitive(value));
  }

  /** Prints a property of an object: its key and value, or only the value if it is an item of a list. */
  property(object: object, key: string | symbol, level: number, isItem: boolean): string {
    const property = Object.getOwnPropertyDescriptor(object, key);
    const name = isItem ? "" : `${formatKey(key, property?.enumerable ?? true, this.options.maxStringLength)}: `;
    this.count(name);
    if (property?.get !== undefined) return `${name}${property.set === undefined ? "[Getter]" : "[Getter/Setter]"}`;
    if (property?.set !== undefined) return `${name}[Setter]`;
    return `${name}${this.indented(() => this.value(property?.value, level))}`;
  }

  /** Prints with an indentation of two more columns, used if the output breaks its line. */
  indented(print: () => string): string {
    this.indentation += 2;
    const text = print();
    this.indentation -= 2;
    return text;
  }

  #object(value: object, level: number): string {
    if (this.#around.includes(value)) {
      const index = this.#circular.get(value) ?? this.#circular.size + 1;
      this.#circular.set(value, index);
      return this.count(`[Circular *${index}]`);
    }
    const className = constructorName(value);
    const tag = tagOf(value, className);
    const body = describeObject(value, className, tag, this);
    if (typeof body === "string") return this.count(body);
    if (level > this.options.depth) {
      const name = prefixOf(className, tag, Array.isArray(value) ? "Array" : "Object", "").slice(0, -1);
      return this.count(className === null ? name : `[${name}]`);
    }
    return this.#withEntries(value, body, level + 1);
  }

  #withEntries(value: object, body: Body, level: number): string {
    this.#around.push(value);
    this.#lastLevel = level;
    const entries: string[] = [];
    let left = 0;
    if (body.special !== undefined) left = body.special(entries, level);
    for (const key of body.keys) {
      if (this.isFull) break;
      entries.push(this.property(value, key, level, false));
    }
    this.#around.pop();
    const reference = this.#circular.get(value);
    const named = reference === undefined ? [body.base] : [`<ref *${reference}>`, body.base];
    const parts = { base: named.filter((part) => part !== "").join(" "), open: body.open, close: body.close, entries };
    this.count(parts.base + parts.open);
    const place = { indentation: this.indentation, levels: this.#lastLevel - level };
    return layOut(parts, body.numeric === undefined ? place : { ...place, list: { numeric: body.numeric, left } });
  }

  #primitive(value: unknown): string {
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number") return formatNumber(value);
    if (typeof value === "bigint") return `${value}n`;
    return String(value).slice(0, this.options.maxStringLength);
  }

  #text(value: string): string {
    const { maxStringLength } = this.options;
    const text = value.length > maxStringLength ? value.slice(0, maxStringLength) : value;
    const cut = value.length > maxStringLength ? more(value.length - maxStringLength, "character") : "";
    if (text.length <= UNBROKEN_TEXT || text.length <= LINE_WIDTH - this.indentation - 4) return quote(text) + cut;
    const lines = text.split(/(?<=\n)/).map((line) => quote(line));
    return lines.join(` +\n${" ".repeat(this.indentation + 2)}`) + cut;
  }
}
