import { drawTable } from "./console-table.ts";
import { allOptions, formatAll, formatWith, inspect } from "./inspect.ts";
import type { InspectOptions } from "./printer.ts";

/** Level of a message. */
export type ConsoleLevel = "debug" | "log" | "info" | "warn" | "error";

/** The console of tools. Its functions work without a receiver. */
export interface WebConsole {
  readonly log: (...args: readonly unknown[]) => void;
  readonly info: (...args: readonly unknown[]) => void;
  readonly warn: (...args: readonly unknown[]) => void;
  readonly error: (...args: readonly unknown[]) => void;
  readonly debug: (...args: readonly unknown[]) => void;
  readonly trace: (...args: readonly unknown[]) => void;
  readonly dir: (value?: unknown, options?: InspectOptions) => void;
  readonly dirxml: (...args: readonly unknown[]) => void;
  readonly table: (data?: unknown, columns?: readonly string[]) => void;
  readonly assert: (condition?: unknown, ...args: readonly unknown[]) => void;
  readonly clear: () => void;
  readonly count: (label?: string) => void;
  readonly countReset: (label?: string) => void;
  readonly group: (...args: readonly unknown[]) => void;
  readonly groupCollapsed: (...args: readonly unknown[]) => void;
  readonly groupEnd: () => void;
  readonly time: (label?: string) => void;
  readonly timeLog: (label?: string, ...args: readonly unknown[]) => void;
  readonly timeEnd: (label?: string) => void;
}

/** Maximum number of labels of counters, and of timers. */
const LABELS_MAX = 1_000;
const LABEL_LENGTH_MAX = 1_000;
/** Maximum depth of groups that is indented. */
const INDENTED_GROUPS_MAX = 32;
const MESSAGE_MAX = 16_384;

/** Creates a console with its own counters, timers and groups. `now` returns milliseconds. */
export function createConsole(
  write: (level: ConsoleLevel, message: string) => void,
  now: () => number,
  show: NonNullable<InspectOptions["show"]> = () => undefined,
): WebConsole {
  const state = new ConsoleState(write, show);
  const timers = new Timers(state, now);
  const counters = new Map<string, number>();
  const console: WebConsole = {
    log: (...args) => state.print("log", args),
    info: (...args) => state.print("info", args),
    warn: (...args) => state.print("warn", args),
    error: (...args) => state.print("error", args),
    debug: (...args) => state.print("debug", args),
    trace: (...args) => state.write("error", traceText(formatWith({ show }, ...args))),
    dir: (...[value, options]) => state.write("log", inspect(value, { ...readOptions(options), show })),
    dirxml: (...args) => state.print("log", args),
    table: (...[data, columns]) => {
      const table = tableText(data, columns);
      if (table === undefined) state.print("log", [data]);
      else state.write("log", table);
    },
    assert: (...[condition, ...args]) => {
      if (condition) return;
      const [first, ...rest] = args;
      if (typeof first === "string") state.print("error", [`Assertion failed: ${first}`, ...rest]);
      else state.print("error", ["Assertion failed", ...args]);
    },
    // There is no screen: the log stays.
    clear: () => undefined,
    count: (...[label]) => {
      const key = labelText(label);
      const count = (counters.get(key) ?? 0) + 1;
      if (count > 1 || counters.size < LABELS_MAX) counters.set(key, count);
      state.write("log", `${key}: ${count}`);
    },
    countReset: (...[label]) => {
      const key = labelText(label);
      if (!counters.delete(key)) state.write("warn", `Count for '${key}' does not exist`);
    },
    group: (...args) => state.enter(args),
    groupCollapsed: (...args) => state.enter(args),
    groupEnd: () => state.leave(),
    time: (...[label]) => timers.start(labelText(label)),
    timeLog: (...[label, ...args]) => timers.tell(labelText(label), "timeLog", args),
    timeEnd: (...[label]) => timers.end(labelText(label)),
  };
  Object.setPrototypeOf(console, NAMESPACE);
  return Object.defineProperty(console, Symbol.toStringTag, { value: "console", configurable: true });
}

/** The prototype of consoles, as namespaces of the web have it. All calls share it. */
const NAMESPACE = Object.freeze({});

/** The console's output and its indentation. */
class ConsoleState {
  readonly #write: (level: ConsoleLevel, message: string) => void;
  readonly #options: Required<InspectOptions>;
  #groups = 0;

  constructor(write: (level: ConsoleLevel, message: string) => void, show: NonNullable<InspectOptions["show"]>) {
    this.#write = write;
    this.#options = allOptions({ maxChars: MESSAGE_MAX, show });
  }

  print(level: ConsoleLevel, args: readonly unknown[]): void {
    this.write(level, formatAll(args, this.#options));
  }

  write(level: ConsoleLevel, message: string): void {
    const text = this.#groups === 0 ? message : this.#indent(message);
    this.#write(level, text.slice(0, MESSAGE_MAX));
  }

  #indent(message: string): string {
    const indentation = "  ".repeat(Math.min(this.#groups, INDENTED_GROUPS_MAX));
    return `${indentation}${message.replaceAll("\n", `\n${indentation}`)}`;
  }

  enter(title: readonly unknown[]): void {
    if (title.length > 0) this.print("log", title);
    this.#groups += 1;
  }

  leave(): void {
    this.#groups = Math.max(0, this.#groups - 1);
  }
}

/** The timers of a console, by label. */
class Timers {
  readonly #state: ConsoleState;
  readonly #now: () => number;
  readonly #starts = new Map<string, number>();

  constructor(state: ConsoleState, now: () => number) {
    this.#state = state;
    this.#now = now;
  }

  start(label: string): void {
    if (this.#starts.has(label)) this.#state.write("warn", `Label '${label}' already exists for console.time()`);
    else if (this.#starts.size < LABELS_MAX) this.#starts.set(label, this.#now());
    else this.#state.write("warn", `Label '${label}' is one too many for console.time()`);
  }

  tell(label: string, method: string, args: readonly unknown[]): void {
    const start = this.#starts.get(label);
    if (start === undefined) {
      this.#state.write("warn", `No such label '${label}' for console.${method}()`);
      return;
    }
    const text = `${label}: ${formatDuration(this.#now() - start)}`;
    // The label is not a format string: only the values after it are formatted.
    this.#state.write("log", args.length === 0 ? text : `${text} ${formatWith({}, "", ...args).trimStart()}`);
  }

  end(label: string): void {
    this.tell(label, "timeEnd", []);
    this.#starts.delete(label);
  }
}

function labelText(label: unknown): string {
  return label === undefined ? "default" : `${label as string}`.slice(0, LABEL_LENGTH_MAX);
}

function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Number(milliseconds.toFixed(3))}ms`;
  const seconds = milliseconds / 1_000;
  if (seconds < 60) return `${seconds.toFixed(3)}s`;
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${(seconds - minutes * 60).toFixed(3).padStart(6, "0")} (m:ss.mmm)`;
}

/** The message with the stack of the caller of `trace`. The first lines of the stack are internal and removed. */
function traceText(message: string): string {
  const frames = `${new Error().stack ?? ""}`.split("\n").slice(3);
  return [message === "" ? "Trace" : `Trace: ${message}`, ...frames].join("\n");
}

function readOptions(options: unknown): InspectOptions {
  if (typeof options !== "object" || options === null) return {};
  const depth: unknown = Reflect.get(options, "depth");
  if (depth === null) return { depth: Infinity };
  return typeof depth === "number" ? { depth } : {};
}

/** A table reads proxies, which may throw. */
function tableText(data: unknown, columns: unknown): string | undefined {
  try {
    const names = Array.isArray(columns) ? columns.map((column) => `${column as string}`) : undefined;
    return drawTable(data, names)?.slice(0, MESSAGE_MAX);
  } catch {
    return undefined;
  }
}
