import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Command } from "commander";
import { errnoOf } from "../kernel/base/errno.ts";
import { resultText, writableOutput } from "../kernel/base/result.ts";
import type { RunCodeOutput } from "../code-mode/result.ts";
import { CliError, EXIT } from "./exit.ts";
import { parseJsonText } from "./json-text.ts";
import { CONFIG, TOOLS, readConfig, type Sources } from "./open-engine.ts";
import { print, say } from "./output.ts";
import { exitOf } from "./report-result.ts";
import { mayToolsPause, openForCall, sayHowToGoOn } from "./waiting-call.ts";

interface Options extends Sources {
  readonly input?: string;
  readonly result?: true;
  readonly json?: true;
}

/** Functions by which a program itself pauses. */
const PAUSES = /\b(?:approval|signal|sleepUntil)\b/;

/** `glovebox code`: runs a program over a folder of tools, with its result on stdout and its console on stderr. */
export function codeCommand(): Command {
  return new Command("code")
    .description("run a program that calls tools, as a model writes it in code mode")
    .argument("<file>", "file with the program, in TypeScript; - reads it from stdin")
    .option(...TOOLS)
    .option(...CONFIG)
    .option("--input <json>", "the value that the program sees as input")
    .option("--result", "print the whole result instead of what the program returned")
    .option("--json", "print the whole result, as --result does")
    .action(run);
}

async function run(file: string, { input, json, result: isWhole = json, ...sources }: Options): Promise<void> {
  const code = await readProgramFile(file);
  const value = input === undefined ? {} : { input: parseJsonText(input, "the input") };
  const config = await readConfig(sources.config);
  const opened = await openForCall(sources, config, (one) => PAUSES.test(code) || mayToolsPause(one, config));
  await using engine = opened.engine;
  const { codeMode } = await import("../code-mode/code-mode.ts");
  const result = await codeMode(engine).run(code, {
    ...value,
    onLog: ({ level, message }) => say(`[${level}] ${message}`),
  });
  if (isWhole === true) print(resultText(result));
  else if (result.success) print(JSON.stringify((writableOutput(result) as RunCodeOutput).result));
  if (result.success && isWhole !== true)
    for (const warning of result.output.warnings ?? []) say(`glovebox: ${warning}`);
  if (result.error === null) return;
  process.exitCode = exitOf(result.error.code);
  if (isWhole !== true) say(`glovebox: ${result.error.code}: ${result.error.message}`);
  if (result.error.code === "paused") await sayHowToGoOn(result.error.details?.id ?? "", opened);
}

async function readProgramFile(file: string): Promise<string> {
  if (file === "-") return text(process.stdin);
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new CliError(EXIT.USAGE, `the program ${file} cannot be read: ${errnoOf(error) ?? "unknown error"}`);
  }
}
