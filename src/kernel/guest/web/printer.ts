/** Options of an inspection. */
export interface InspectOptions {
  /** Maximum depth of printed objects below the first. */
  readonly depth?: number;
  /** Maximum number of printed items of a list. */
  readonly maxArrayLength?: number;
  /** Maximum number of printed characters of a string. */
  readonly maxStringLength?: number;
  /** Maximum length of the whole output, in characters. */
  readonly maxChars?: number;
  /** State of an object that is not in its properties; `undefined` if it has no such state. */
  readonly show?: (value: object) => object | undefined;
}

/** Parts of a printed object: the text before the bracket, the brackets, and the content. */
export interface Body {
  readonly base: string;
  readonly open: string;
  readonly close: string;
  /** The properties to print, after the entries of `special`. */
  readonly keys: readonly (string | symbol)[];
  /** Adds entries that are not properties. Returns the number of omitted ones. */
  readonly special?: (entries: string[], level: number) => number;
  /** For lists whose items may stand in columns: whether they are all numbers. */
  readonly numeric?: boolean;
}

/** The run of an inspection, as its parts use it. */
export interface Printer {
  readonly options: Required<InspectOptions>;
  readonly indentation: number;
  /** Whether the output limit or the work limit is reached: nothing more needs to be added. */
  readonly isFull: boolean;
  /** Counts text that goes into the output, and returns it. */
  count(text: string): string;
  /** Prints a value nested within `level` objects. */
  value(value: unknown, level: number): string;
  property(object: object, key: string | symbol, level: number, isItem: boolean): string;
  /** Prints with deeper indentation. */
  indented(print: () => string): string;
}
