/** Result of an Amplifier tool. */
export interface ToolResult {
  readonly success: boolean;
  readonly output?: string;
  readonly error?: { readonly message: string; readonly type: string; readonly [detail: string]: unknown };
  readonly metadata?: { readonly [name: string]: unknown };
}

/** Coordinator with which a module mounts its tools. */
export interface Coordinator {
  mount(point: "tools", tool: { readonly name: string }, options: { readonly name: string }): Promise<void>;
}

export type Config = { readonly [name: string]: unknown };

/** Default of `max_output`, in characters: about 12,500 tokens. */
const MAX_OUTPUT = 50_000;

/** Maximum output of a tool, in characters: `max_output` of its config. */
export function maxOutputOf(config: Config): number {
  return wholeNumber(config, "max_output", MAX_OUTPUT);
}

/**
 * Reads a positive whole number from a config. Throws for any other value, so that the mistake shows when the tool is
 * mounted.
 */
export function wholeNumber(config: Config, name: string, usual: number): number {
  const value = config[name] ?? usual;
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  throw new TypeError(`${name} must be a whole number above 0`);
}

/** Reads a list of strings from a config. Throws for any other value. */
export function texts(config: Config, name: string, usual: readonly string[]): readonly string[] {
  const value = config[name] ?? usual;
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value as readonly string[];
  throw new TypeError(`${name} must be a list of texts`);
}

export function failed(type: string, message: string, details: object = {}): ToolResult {
  return { success: false, error: { message, type, ...details } };
}

/** Error types of the contract, by code of the system or the engine. */
const TYPES: ReadonlyMap<unknown, string> = new Map([
  ["capability_denied", "PermissionError"],
  ["EACCES", "PermissionError"],
  ["EPERM", "PermissionError"],
  ["ENOENT", "FileNotFoundError"],
  ["EEXIST", "FileExistsError"],
  ["EISDIR", "IsADirectoryError"],
  ["ENOTDIR", "NotADirectoryError"],
]);

/** Type and message of a thrown value. */
export function described(error: unknown): { readonly type: string; readonly message: string } {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  return { type: ("code" in error ? TYPES.get(error.code) : undefined) ?? error.name, message: error.message };
}

/** Runs `work`; an exception becomes a failed result with a type. */
export async function gracefully(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    const { type, message } = described(error);
    return failed(type, type === "PermissionError" ? message : `Unexpected error: ${message}`);
  }
}
