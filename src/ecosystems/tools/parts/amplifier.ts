/** What an Amplifier tool answers. */
export interface ToolResult {
  readonly success: boolean;
  readonly output?: string;
  readonly error?: { readonly message: string; readonly type: string; readonly [detail: string]: unknown };
  readonly metadata?: { readonly [name: string]: unknown };
}

/** Where a module mounts its tools. */
export interface Coordinator {
  mount(point: "tools", tool: { readonly name: string }, options: { readonly name: string }): Promise<void>;
}

export type Config = { readonly [name: string]: unknown };

/** About 12,500 tokens: longer outputs are cut to it. */
const MAX_OUTPUT = 50_000;

/** The longest output of a tool, in characters: `max_output` of its config. */
export function maxOutputOf(config: Config): number {
  return wholeNumber(config, "max_output", MAX_OUTPUT);
}

/** A number of a config. Throws if it is not a number, so that the mistake shows when the tool is mounted. */
export function wholeNumber(config: Config, name: string, usual: number): number {
  const value = config[name] ?? usual;
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  throw new TypeError(`${name} must be a whole number above 0`);
}

/** A list of strings of a config. Throws if it is anything else. */
export function texts(config: Config, name: string, usual: readonly string[]): readonly string[] {
  const value = config[name] ?? usual;
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value as readonly string[];
  throw new TypeError(`${name} must be a list of texts`);
}

export function failed(type: string, message: string, details: object = {}): ToolResult {
  return { success: false, error: { message, type, ...details } };
}

/** Errors of the system, by the names that the contract gives them. */
const TYPES: ReadonlyMap<unknown, string> = new Map([
  ["capability_denied", "PermissionError"],
  ["EACCES", "PermissionError"],
  ["EPERM", "PermissionError"],
  ["ENOENT", "FileNotFoundError"],
  ["EEXIST", "FileExistsError"],
  ["EISDIR", "IsADirectoryError"],
  ["ENOTDIR", "NotADirectoryError"],
]);

/** What was thrown, as its type and what it says. */
export function described(error: unknown): { readonly type: string; readonly message: string } {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  return { type: ("code" in error ? TYPES.get(error.code) : undefined) ?? error.name, message: error.message };
}

/** Does its work, and answers with whatever is thrown as an error that has a type. */
export async function gracefully(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    const { type, message } = described(error);
    return failed(type, type === "PermissionError" ? message : `Unexpected error: ${message}`);
  }
}
