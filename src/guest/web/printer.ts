/** How a value is printed. */
export interface InspectOptions {
  /** How many levels of objects are opened below the first. */
  readonly depth?: number;
  /** How many items of a list are printed. */
  readonly maxArrayLength?: number;
  /** How many characters of a string are printed. */
  readonly maxStringLength?: number;
  /** How many characters there are at most, all together. */
  readonly maxChars?: number;
  /** What an object shows besides its properties; `undefined` where it is nothing. */
  readonly show?: (value: object) => object | undefined;
}

/** How an object is printed: what stands before the bracket, the brackets, and what stands between them. */
export interface Body {
  readonly base: string;
  readonly open: string;
  readonly close: string;
  /** The properties to print, after what `special` adds. */
  readonly keys: readonly (string | symbol)[];
  /** Adds entries that are no properties; gives how many were left out. */
  readonly special?: (entries: string[], level: number) => number;
  /** Given for lists whose items may stand in columns: whether they are all numbers. */
  readonly numeric?: boolean;
}

/** What the parts of the inspection need of the run they belong to. */
export interface Printer {
  readonly options: Required<InspectOptions>;
  readonly indentation: number;
  /** Whether there is as much output as wanted, or as much work done as allowed: nothing more needs to be added. */
  readonly isFull: boolean;
  /** Counts text that goes into the output, and gives it back. */
  count(text: string): string;
  /** Prints a value that stands within `level` objects. */
  value(value: unknown, level: number): string;
  /** Prints a property of an object. */
  property(object: object, key: string | symbol, level: number, isItem: boolean): string;
  /** Prints with what comes indented further. */
  indented(print: () => string): string;
}
