import { nodeError } from "./errors.ts";

/** `util.parseArgs`. */

interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  readonly default?: unknown;
}

interface Config {
  readonly args?: readonly string[];
  readonly options?: { readonly [name: string]: Option };
  readonly strict?: boolean;
  readonly allowPositionals?: boolean;
}

export function parseArgs(config: Config = {}): { values: { [name: string]: unknown }; positionals: string[] } {
  const { args = [], options = {}, strict = true } = config;
  const values: { [name: string]: unknown } = Object.create(null) as { [name: string]: unknown };
  const positionals: string[] = [];
  const set = (name: string, value: unknown): void => {
    if (options[name]?.multiple !== true) values[name] = value;
    else values[name] = [...((values[name] as unknown[] | undefined) ?? []), value];
  };
  const take = (name: string, inline: string | undefined, next: () => string | undefined): void => {
    const option = options[name];
    if (option === undefined && strict)
      throw nodeError(TypeError, "ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '--${name}'`);
    if (option?.type !== "string") return set(name, inline ?? true);
    const value = inline ?? next();
    if (value === undefined) {
      throw nodeError(TypeError, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '--${name} <value>' argument missing`);
    }
    return set(name, value);
  };
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    const next = (): string | undefined => args[++at];
    if (arg === "--") {
      positionals.push(...args.slice(at + 1));
      break;
    }
    const long = /^--([^=]+)(?:=([\s\S]*))?$/.exec(arg);
    if (long !== null) take(long[1] ?? "", long[2], next);
    else if (/^-[^-]/.test(arg)) {
      for (const letter of arg.slice(1)) {
        const name = Object.keys(options).find((one) => options[one]?.short === letter) ?? letter;
        take(name, undefined, next);
      }
    } else positionals.push(arg);
  }
  if (positionals.length > 0 && strict && config.allowPositionals !== true) {
    throw nodeError(TypeError, "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL", `Unexpected argument '${positionals[0] ?? ""}'`);
  }
  for (const [name, option] of Object.entries(options))
    if (option.default !== undefined) values[name] ??= option.default;
  return { values, positionals };
}
