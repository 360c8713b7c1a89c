import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { isObject } from "../../kernel/base/json.ts";
import type { Position, YamlProblem, YamlText } from "../../kernel/base/yaml-text.ts";
import { ConfigError, type ConfigFinding } from "./config-error.ts";
import { withExactValues } from "./exact-values.ts";
import { CONFIG_SCHEMA, HIDDEN, URLS } from "./schema.ts";

/** File names of a configuration, in search order. */
const CONFIG_NAMES: readonly string[] = ["glovebox.config.yaml", "glovebox.config.yml", "glovebox.config.json"];

const FILE_MAX_BYTES = 1024 * 1024;
/** Maximum length, in characters, of a source line shown in a message. */
const EXCERPT_MAX = 160;
/** Top-level settings that may contain secrets. */
const SECRET_PARTS: readonly string[] = [...HIDDEN, ...URLS].map((place) => place.slice(0, place.indexOf("/")));
/** Top-level settings whose lines messages may show. Lines of unknown settings may hold secrets and stay hidden. */
const SHOWN_PARTS = new Set(Object.keys(CONFIG_SCHEMA.properties ?? {}).filter((name) => !SECRET_PARTS.includes(name)));

/** A parsed configuration file. */
export interface ConfigFile {
  /** File name without its folder, for messages. */
  readonly shown: string;
  /** Folder against which the file's relative paths resolve. */
  readonly folder: string;
  readonly value: unknown;
  readonly positionOf: YamlText["positionOf"];
  /** Names that an object has more than once; empty unless they are tolerated. */
  readonly repeated: readonly ConfigFinding[];
  /** Formats a problem with its position, and the source line unless it may contain a secret. */
  readonly pointOut: (position: Position, problem: string) => string;
}

/** Path of the configuration file in a folder, if one exists. */
async function findConfig(folder: string): Promise<string | undefined> {
  for (const name of CONFIG_NAMES) {
    const file = path.join(folder, name);
    if ((await stat(file).catch(() => null))?.isFile() === true) return file;
  }
  return undefined;
}

/** The configuration file of a command: the named one, that of the environment, or that in this folder. */
export async function chosenConfig(
  named: string | undefined,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  return named ?? (environment["GLOVEBOX_CONFIG"] || (await findConfig(process.cwd())));
}

/** Reads a file of YAML or JSON. Rejects with a `ConfigError`. */
export async function readConfigFile(file: string, toleratesRepeated = false): Promise<ConfigFile> {
  const shown = path.basename(file);
  const { size } = await stat(file).catch(() => {
    throw new ConfigError(`${shown}: there is no such file`);
  });
  if (size > FILE_MAX_BYTES) throw new ConfigError(`${shown}: it has more than ${FILE_MAX_BYTES} bytes`);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`${shown}: it cannot be read: ${error.code}`);
  });
  const { readYamlText, YamlError } = await import("../../kernel/base/yaml-text.ts");
  try {
    const read = readYamlText(text, toleratesRepeated);
    const pointOut = (position: Position, problem: string) => {
      const place = `${shown}:${position.line}:${position.column}: ${problem}`;
      return isSecret(read, position.line) ? place : place + excerpt(text, position);
    };
    const folder = path.dirname(path.resolve(file));
    const repeated = read.repeated.map((problem) => syntaxFinding(problem, shown));
    return {
      shown,
      folder,
      value: withExactValues(read.value ?? {}, read.exact),
      positionOf: read.positionOf,
      repeated,
      pointOut,
    };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    // Unparsable text may contain secrets: report only its position.
    const findings = error.problems.map((problem) => syntaxFinding(problem, shown));
    const [first] = findings;
    throw new ConfigError(`${first?.place ?? shown}: ${first?.message ?? "it is not YAML"}`, findings);
  }
}

function syntaxFinding({ message, position }: YamlProblem, shown: string): ConfigFinding {
  const place = position === undefined ? shown : `${shown}:${position.line}:${position.column}`;
  const [problem = message] = position === undefined ? [message] : message.split(/: |\\/);
  return { rule: "config/syntax", place, message: problem, ...(position === undefined ? {} : { position }) };
}

function isSecret({ value, positionOf, lastLineOf }: YamlText, line: number): boolean {
  if (!isObject(value)) return true;
  return Object.keys(value).some((part) => {
    const last = lastLineOf([part]) ?? 0;
    return !SHOWN_PARTS.has(part) && positionOf([part], "key").line <= line && line <= last;
  });
}

/** The source line with a caret below the position. */
function excerpt(text: string, { line, column }: Position): string {
  const shown = text.split(/\r?\n/, line)[line - 1] ?? "";
  if (shown.trim() === "" || shown.length > EXCERPT_MAX) return "";
  const margin = `${line} | `;
  return `\n  ${margin}${shown}\n  ${" ".repeat(margin.length + column - 1)}^`;
}
