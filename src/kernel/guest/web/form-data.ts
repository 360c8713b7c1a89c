import { requireArguments, toText } from "./arguments.ts";
import { Blob, File, blobBytes, fileOf } from "./blob.ts";
import { definePairs, type Pairs } from "./pair-iterator.ts";
import { describeInterface } from "./web-interface.ts";

/** A field of a form: text or a file. */
export type FormEntry = readonly [name: string, value: string | File];

let readEntries = (_form: object): FormEntry[] => [];

/** The fields of a form, in order. */
export class FormData {
  #entries: FormEntry[] = [];

  static {
    describeInterface(this, "FormData");
    readEntries = (form) => (form as FormData).#entries;
  }

  declare readonly [Symbol.iterator]: Pairs<string | File>["entries"];
  declare readonly entries: Pairs<string | File>["entries"];
  declare readonly keys: Pairs<string | File>["keys"];
  declare readonly values: Pairs<string | File>["values"];
  declare readonly forEach: Pairs<string | File>["forEach"];

  constructor(...[form]: [form?: undefined]) {
    if (form !== undefined) throw new TypeError("There are no forms here that a FormData could be made from");
  }

  append(name: string, value: string | Blob, ...[fileName]: [fileName?: string]): void {
    this.#entries.push(readEntry(arguments.length, name, value, fileName));
  }

  delete(name: string): void {
    const key = readName(arguments.length, name);
    this.#entries = this.#entries.filter((entry) => entry[0] !== key);
  }

  get(name: string): string | File | null {
    const key = readName(arguments.length, name);
    return this.#entries.find((entry) => entry[0] === key)?.[1] ?? null;
  }

  getAll(name: string): (string | File)[] {
    const key = readName(arguments.length, name);
    return this.#entries.filter((entry) => entry[0] === key).map((entry) => entry[1]);
  }

  has(name: string): boolean {
    const key = readName(arguments.length, name);
    return this.#entries.some((entry) => entry[0] === key);
  }

  set(name: string, value: string | Blob, ...[fileName]: [fileName?: string]): void {
    const replacement = readEntry(arguments.length, name, value, fileName);
    const first = this.#entries.findIndex((entry) => entry[0] === replacement[0]);
    if (first < 0) this.#entries.push(replacement);
    else {
      const kept = this.#entries.filter((entry, index) => index <= first || entry[0] !== replacement[0]);
      this.#entries = kept.map((entry, index) => (index === first ? replacement : entry));
    }
  }
}

definePairs(FormData, "FormData", (form) => readEntries(form));

/** The fields of a `FormData`; throws for any other object. */
export function formEntries(form: object): readonly FormEntry[] {
  return readEntries(form);
}

function readName(given: number, name: unknown): string {
  requireArguments(given, 1);
  return toText(name);
}

function readEntry(given: number, name: unknown, value: unknown, fileName: unknown): FormEntry {
  requireArguments(given, 2);
  const key = toText(name);
  if (!(value instanceof Blob) || blobBytes(value) === undefined) {
    if (given > 2) throw new TypeError("Only a Blob can have a file's name");
    return [key, toText(value)];
  }
  if (value instanceof File && fileName === undefined) return [key, value];
  const lastModified = value instanceof File ? value.lastModified : undefined;
  return [key, fileOf(value, fileName === undefined ? "blob" : toText(fileName), lastModified)];
}
