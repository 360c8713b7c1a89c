import { access, constants, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { Command } from "commander";
import type { Engine } from "../kernel/engine/engine.ts";
import { type Progress, withMetadata } from "../kernel/base/result.ts";
import { errnoOf } from "../kernel/base/errno.ts";
import { isObject } from "../kernel/base/json.ts";
import { nearest } from "../server/config/names.ts";
import type { Config } from "../server/config/schema.ts";
import { authorLine } from "./author-line.ts";
import { CliError, EXIT, unwritable } from "./exit.ts";
import { parseJsonText } from "./json-text.ts";
import { CONFIG, namesTools, readConfig } from "./open-engine.ts";
import { isWorkflow } from "./open-workflow.ts";
import { say } from "./output.ts";
import { reportResult } from "./report-result.ts";
import { runWorkflow } from "./run-workflow.ts";
import { sampleTools } from "./samples.ts";
import { mayToolsPause, type KeptEngine, openForCall, sayHowToGoOn } from "./waiting-call.ts";

interface Options {
  readonly input?: string;
  readonly tools?: string;
  readonly config?: string;
  readonly record?: string;
  readonly result?: true;
  readonly json?: true;
  readonly force?: true;
  readonly var?: readonly string[];
}

/** A tool to run, and its engine. */
interface Opened extends KeptEngine, AsyncDisposable {
  readonly name: string;
  /** Files and folders that may contain the tool's module. */
  readonly files: readonly string[];
}

/** A path of a module or a package: other texts are names of tools. */
const PATH = /[\\/]|\.(?:[cm]?[jt]s|py|wasm|zip|tar\.gz|tgz)$/;
/** Endings of modules that are looked for where a tool's name is no tool's. */
const ENDINGS = [".ts", ".js", ".mjs", ".py"];
/** Names of other tools that an error shows. */
const NAMES_SHOWN = 20;
const INPUT_FORM = `write an object such as {"a":1}; where a shell changes its quotes, --input - reads it from stdin`;
const NO_TOOL = "arguments and --record are for tools: a workflow takes --var";
const NO_WORKFLOW = "--force and --var are for workflows, whose files end in .yaml";

/** `glovebox run`: makes one call, with its output on stdout and its console on stderr; or runs a workflow. */
export function runCommand(): Command {
  return new Command("run")
    .description("run a tool once, or a workflow")
    .argument("<tool>", "name of a tool, or path of its module; or a workflow's YAML file")
    .argument("[json]", "the tool's arguments, as --input takes them")
    .option("--input <json>", "the tool's arguments as a JSON object; - reads them from stdin (default: {})")
    .option(
      "--tools <dir>",
      "folder of tools to look up the name in (default: the configuration's tools, else the samples)",
    )
    .option(...CONFIG)
    .option("--record <file>", "record the call and everything it depends on in a file, for `glovebox replay`")
    .option("--result", "print the whole result instead of its output")
    .option("--json", "print the whole result, as --result does")
    .option("--force", "overwrite existing files with the workflow's artifacts")
    .option("--var <name=value>", "variable for the workflow's templates; may be given several times", collect)
    .action(run);
}

function collect(one: string, before: readonly string[] = []): readonly string[] {
  return [...before, one];
}

async function run(tool: string, positional: string | undefined, { json, ...given }: Options): Promise<void> {
  if (positional !== undefined && given.input !== undefined)
    throw new CliError(
      EXIT.USAGE,
      "the tool's arguments are given twice: leave --input out, or the text after the tool",
    );
  const options: Options = json === true ? { ...given, result: true } : given;
  const { input = positional, record, force, var: variables, ...shared } = options;
  if (isWorkflow(tool)) {
    if (input !== undefined || record !== undefined) throw new CliError(EXIT.USAGE, NO_TOOL);
    return runWorkflow(tool, {
      ...shared,
      ...(force === undefined ? {} : { force }),
      ...(variables === undefined ? {} : { var: variables }),
    });
  }
  if (force !== undefined || variables !== undefined) throw new CliError(EXIT.USAGE, NO_WORKFLOW);
  await runTool(tool, input ?? "{}", options);
}

async function runTool(tool: string, input: string, options: Options): Promise<void> {
  const args = await readInput(input);
  if (options.record !== undefined) await requireFolder(options.record);
  await using opened = await open(tool, options);
  const { engine, name, files } = opened;
  const result = await engine.execute(
    { name, arguments: args },
    {
      origin: { surface: "cli" },
      record: options.record !== undefined,
      onLog: ({ level, message }) => say(`[${level}] ${message}`),
      onProgress: (progress) => say(describeProgress(progress)),
    },
  );
  const { recording, ...metadata } = result.metadata;
  reportResult(withMetadata(result, metadata), options.result === true);
  if (result.error?.code === "paused") return await sayHowToGoOn(result.error.details?.id ?? "", opened);
  const line = result.error === null || options.result === true ? null : await authorLine(result.error, name, files);
  // The last line is the author's own.
  if (line !== null) say(line);
  // A refused call never ran and has no recording.
  if (options.record === undefined || recording === undefined) return;
  // The recording contains inputs and responses, so only the user may read it.
  await writeFile(options.record, JSON.stringify(recording), { mode: 0o600 });
}

/** A call is not made, with its effects, whose recording could not be written. */
async function requireFolder(file: string): Promise<void> {
  await access(path.dirname(file), constants.W_OK).catch((error: unknown) => {
    throw unwritable("--record", file, errnoOf(error));
  });
}

/** Progress as text: `[3 of 5] copying`. */
function describeProgress({ progress, total, message }: Progress): string {
  return `[${progress}${total === undefined ? "" : ` of ${total}`}]${message === undefined ? "" : ` ${message}`}`;
}

async function readInput(input: string): Promise<Record<string, unknown>> {
  const json = input === "-" ? await text(process.stdin) : input;
  const value = parseJsonText(json, "the input", INPUT_FORM);
  if (!isObject(value)) throw new CliError(EXIT.INVALID, 'the input is not an object such as {"a":1,"b":2}');
  return value;
}

async function open(tool: string, { tools, config }: Options): Promise<Opened> {
  const values = await readConfig(config);
  const here = await fileHere(tool);
  // Where no tools are named, what is there is meant, whatever its name.
  const isPath = tools === undefined && (PATH.test(tool) || tool === "." || (here === tool && !namesTools(values)));
  const isHere = here !== undefined && tools === undefined && !isPath;
  if (isHere && !namesTools(values) && sampleTools() === undefined)
    throw new CliError(EXIT.USAGE, `no tools are named; write ./${here} for the one that is here`);
  const source = isPath ? tool : tools;
  const nameIn = (engine: Engine): string | undefined => {
    const names = engine.list().map(({ name }) => name);
    const ofPath = isPath ? notOfConnectors(engine, names) : [];
    return ofPath.length === 1 ? ofPath[0] : names.find((one) => one === tool);
  };
  const opened = await openForCall({ tools: source, config }, values, (engine) => {
    const name = nameIn(engine);
    return name !== undefined && mayToolsPause(engine, values, name);
  });
  const { engine } = opened;
  const name = nameIn(engine);
  if (name !== undefined) {
    return { ...opened, name, files: placesOf(source, values), [Symbol.asyncDispose]: () => engine.close() };
  }
  const names = engine.list().map((one) => one.name);
  await engine.close();
  const several = `${tool} holds several tools: name one of them with --tools ${tool}`;
  throw new CliError(EXIT.USAGE, isPath ? several : notAmong(names, tool, isHere ? here : undefined));
}

/** Names of tools from files: a configuration's connectors add their tools for any path. */
function notOfConnectors(engine: Engine, names: readonly string[]): readonly string[] {
  const others = new Set(engine.connectors().flatMap(({ tools }) => tools));
  return names.filter((name) => !others.has(name));
}

function placesOf(source: string | undefined, { tools }: Config): readonly string[] {
  if (source !== undefined) return [source];
  const samples = sampleTools();
  const named = tools?.map((tool) => (typeof tool === "string" ? tool : tool.path));
  return named ?? (samples === undefined ? [] : [samples]);
}

/** A file or folder of this name, or a module whose name it is but for its ending. */
async function fileHere(tool: string): Promise<string | undefined> {
  for (const name of ["", ...ENDINGS].map((ending) => tool + ending)) {
    if (await stat(name).then(Boolean, () => false)) return name;
  }
  return undefined;
}

function notAmong(names: readonly string[], tool: string, here: string | undefined): string {
  const meant = nearest(tool, names);
  const more = names.length > NAMES_SHOWN ? `, and ${names.length - NAMES_SHOWN} more` : "";
  const known =
    names.length === 0 ? ", as no tool is loaded" : ` among ${names.slice(0, NAMES_SHOWN).join(", ")}${more}`;
  // A file name without a path is taken for a tool's name.
  if (here !== undefined) return `there is no tool "${tool}"${known}; write ./${here} for the one that is here`;
  const hint = meant === undefined ? "" : `; is ${meant} meant?`;
  return `there is no tool "${tool}"${known}${hint}`;
}
