import { count, type Limits } from "../base/limits.ts";

/** Options of code mode. */
export interface CodeModeOptions {
  /** Names of the tools that programs may call, each of which may end in `*`. Default: all. */
  readonly tools?: readonly string[];
  /** Whether snippets are among them. Default true. */
  readonly snippets?: boolean;
  /** Names of tools that are declared before others, each of which may end in `*`. */
  readonly pinned?: readonly string[];
  /** Tokens of the declarations that models read, each counted as 4 characters. Default 4,000. */
  readonly tokens?: number;
  /**
   * Whether programs are checked with TypeScript's native compiler before they run, so that a wrong argument is
   * reported before any tool is called. `auto`: if the optional package `typescript` is installed; a program that could
   * not be checked runs, and its result says so. `require`: such a program does not run. Default `auto`.
   */
  readonly typeCheck?: TypeCheckMode;
  /** Tenant of programs whose call names none. They can also call its own tools. */
  readonly tenant?: string;
  /** Length of a result as JSON, in UTF-16 units, beyond which a model gets a preview. Default 24,000. */
  readonly resultChars?: number;
  /** Length of a program, in UTF-16 units. Default 65,536. */
  readonly codeChars?: number;
  /** Limits of a program, up to the engine's `maxLimits`. Default: `CODE_LIMITS`. */
  readonly limits?: Partial<Limits>;
}

export type TypeCheckMode = (typeof TYPE_CHECKS)[number];
export const TYPE_CHECKS = ["auto", "require", "off"] as const;

/** Options with their defaults. */
export interface ResolvedCodeMode {
  readonly tools: readonly string[];
  readonly snippets: boolean;
  readonly pinned: readonly string[];
  readonly tokens: number;
  readonly typeCheck: TypeCheckMode;
  readonly tenant: string | undefined;
  readonly resultChars: number;
  readonly codeChars: number;
  readonly limits: Partial<Limits>;
}

/** Limits of a program by default. Its calls of tools have their own. */
export const CODE_LIMITS = {
  cpuMs: 5_000,
  wallMs: 60_000,
  memoryMb: 64,
  capabilityCalls: 500,
  capabilityBytes: 8 * 1024 * 1024,
} as const satisfies Partial<Limits>;

const TOKENS = 4_000;
const RESULT_CHARS = 24_000;
const CODE_CHARS = 65_536;
const PATTERNS_MAX = 1_000;
const PATTERN_MAX = 256;

/** Throws a `RangeError` or a `TypeError` that names the option and its form. */
export function resolveCodeMode(options: CodeModeOptions = {}): ResolvedCodeMode {
  const { tools = ["*"], pinned = [], tokens, tenant, resultChars, codeChars, limits } = options;
  const { typeCheck = "auto", snippets = true } = options;
  if (!TYPE_CHECKS.includes(typeCheck)) throw new TypeError(`codeMode.typeCheck must be ${TYPE_CHECKS.join(", ")}`);
  if (typeof snippets !== "boolean") throw new TypeError("codeMode.snippets must be true or false");
  checkPatterns("codeMode.tools", tools);
  checkPatterns("codeMode.pinned", pinned);
  return {
    tools,
    snippets,
    pinned,
    tokens: count("codeMode.tokens", tokens, TOKENS, 100),
    typeCheck,
    tenant,
    resultChars: count("codeMode.resultChars", resultChars, RESULT_CHARS, 100),
    codeChars: count("codeMode.codeChars", codeChars, CODE_CHARS, 1),
    limits: { ...CODE_LIMITS, ...limits },
  };
}

function checkPatterns(name: string, patterns: unknown): void {
  const isList = Array.isArray(patterns) && patterns.length <= PATTERNS_MAX && patterns.every(isPattern);
  if (!isList)
    throw new TypeError(`${name} must be a list of at most ${PATTERNS_MAX} names, each of which may end in *`);
}

function isPattern(value: unknown): boolean {
  return typeof value === "string" && value !== "" && value.length <= PATTERN_MAX;
}
