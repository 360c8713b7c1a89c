import { errnoOf } from "../kernel/base/errno.ts";
import { readFile, writeFile } from "node:fs/promises";
import { Command, Option } from "commander";
import { isObject } from "../kernel/base/json.ts";
import type { CodeModeOptions } from "../kernel/engine/code-mode-options.ts";
import type { DeclaredTool } from "../kernel/tool/declarations/declare-tools.ts";
import { CliError, EXIT, unwritable } from "./exit.ts";
import { CONFIG, TOOLS, openEngine, readConfig, type Sources, withFolder } from "./open-engine.ts";
import { countOf, print, printJson } from "./output.ts";
import { wholeNumber } from "./setting-flags.ts";
import { ask, parseJson, remoteServer, textOf } from "./remote-server.ts";

interface Options extends Sources {
  readonly url?: string;
  readonly keyEnv?: string;
  readonly out?: string;
  readonly register?: true;
  readonly check?: true;
  readonly tokens?: string;
  readonly json?: true;
}

/** Tools, and the engine's options of code mode for them. */
interface FoundTools {
  readonly tools: readonly DeclaredTool[];
  readonly codeMode?: CodeModeOptions | undefined;
}

/** A budget with room for the names of namespaces, and one beyond any model's window. */
const TOKENS_LEAST = 100;
const TOKENS_MOST = 1_000_000;
const ANSWERS_WITHIN_MS = 30_000;
const ANSWER_MAX_CHARS = 64 * 1024 * 1024;

/** `glovebox types`: declarations of TypeScript for tools in any language. */
export function typesCommand(): Command {
  return withFolder(new Command("types"))
    .description("write TypeScript declarations of the tools: what callers send to each, and what they are answered")
    .option(...TOOLS)
    .option(...CONFIG)
    .option("--url <url>", "the address of a server whose tools are declared, instead of a folder")
    .option("--key-env <name>", "environment variable with a key for that server")
    .option("--out <file>", "file to write (default: print it)")
    .addOption(
      new Option(
        "--register",
        "have engines and clients that are made without type arguments use these types",
      ).conflicts("tokens"),
    )
    .option(
      "--tokens <number>",
      "what models read of the tools in code mode, in at most so many tokens of 4 characters each",
      wholeNumber(TOKENS_LEAST, TOKENS_MOST),
    )
    .option("--check", "write nothing; exit with 5 if the file of --out is not what would be written")
    .option("--json", "print JSON: the text, or the file that was written or compared")
    .action(types);
}

async function types(
  _dir: string | undefined,
  { url, keyEnv, out, register, check, tokens, json, ...sources }: Options,
): Promise<void> {
  if (url !== undefined && sources.tools !== undefined) {
    throw new CliError(EXIT.USAGE, "the tools are those of a folder or of the server at --url: name one of the two");
  }
  if (check === true && out === undefined) throw new CliError(EXIT.USAGE, "--check compares the file of --out FILE");
  if (url === undefined && keyEnv !== undefined) throw new CliError(EXIT.USAGE, "--key-env goes with --url");
  const found = url === undefined ? await toolsHere(sources) : { tools: await toolsAt(url, keyEnv) };
  const { tools } = found;
  const text = tokens === undefined ? await typesOf(tools, register === true) : await forModels(found, Number(tokens));
  const told = (words: string, found: object): void =>
    json === true ? printJson({ ...found, tools: tools.length }) : print(words);
  if (out === undefined) return told(text.trimEnd(), { text });
  if (check === true) {
    await checkFile(out, text);
    return told(`${out} is up to date`, { file: out });
  }
  await writeFile(out, text).catch((error: unknown) => {
    throw unwritable("--out", out, errnoOf(error));
  });
  told(`${out}: ${countOf(tools.length, "tool")}`, { file: out });
}

/** Also for declarations from a server: they are data, and are not compiled. */
async function typesOf(tools: readonly DeclaredTool[], register: boolean): Promise<string> {
  const { declareTools } = await import("../kernel/tool/declarations/declare-tools.ts");
  return declareTools(tools, { register });
}

/** The declarations in the description of `run_code`. */
async function forModels({ tools, codeMode }: FoundTools, tokens: number): Promise<string> {
  const { Catalog, mayCall } = await import("../code-mode/catalog.ts");
  const { resolveCodeMode } = await import("../kernel/engine/code-mode-options.ts");
  const options = resolveCodeMode(codeMode);
  const callable = tools.filter(({ name }) => mayCall(name, options));
  return `${new Catalog(callable, options).declarations(tokens).text}\n`;
}

async function toolsHere(sources: Sources): Promise<FoundTools> {
  await using engine = await openEngine(sources, await readConfig(sources.config), {
    workers: 1,
    executor: { kind: "process", spare: false },
  });
  return { tools: engine.list(), codeMode: engine.codeMode };
}

async function toolsAt(url: string, keyEnv: string | undefined): Promise<readonly DeclaredTool[]> {
  const server = remoteServer(url, keyEnv);
  const response = await ask(server, {
    path: "v1/tools",
    accept: "application/json",
    signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    role: "execute",
    missing: "tools",
  });
  let text = "";
  for await (const part of textOf(response)) {
    text += part;
    if (text.length > ANSWER_MAX_CHARS) throw new CliError(EXIT.FAILED, "the server's answer is too long");
  }
  const infos = parseJson(text);
  if (!Array.isArray(infos) || !infos.every(isDeclared)) {
    throw new CliError(EXIT.FAILED, "the server's answer is no list of tools");
  }
  return infos;
}

function isDeclared(info: unknown): info is DeclaredTool {
  return isObject(info) && typeof info["name"] === "string" && typeof info["description"] === "string";
}

async function checkFile(file: string, text: string): Promise<void> {
  const found = await readFile(file, "utf8").catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return null;
    throw error;
  });
  // Git may have changed the ends of lines.
  if (found?.replaceAll("\r\n", "\n") === text) return;
  const what = found === null ? "does not exist" : "is not what the tools are now";
  throw new CliError(EXIT.STALE, `${file} ${what}: run the command without --check`);
}
