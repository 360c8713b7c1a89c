import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Argument, Command, Option } from "commander";
import { isObject } from "../kernel/base/json.ts";
import { RUNTIMES } from "../standard/plugins.ts";
import { findSources } from "../kernel/tool/source.ts";
import { chosenConfig, readConfigFile } from "../server/config/config-file.ts";
import { readPages } from "./docs.ts";
import { ask, remoteServer } from "./remote-server.ts";
import { sampleTools } from "./samples.ts";

/** A word that may be inserted in a line. */
interface Candidate {
  readonly value: string;
  readonly about: string;
}

/** The written part of a line. */
interface Line {
  readonly command: Command;
  /** The option whose value is to be completed. */
  readonly option: Option | undefined;
  /** The argument to be completed. */
  readonly argument: Argument | undefined;
  /** Values of options, by their long names. */
  readonly values: ReadonlyMap<string, string>;
}

const SERVER_MS = 200;
const CALLS_MAX = 50;
const FILES_MAX = 200;
const FILE_MAX_CHARS = 64 * 1024;
const SERVER = "http://127.0.0.1:8080";
/** Safe names: names come from tools and servers, and shells evaluate completed words. Others are not offered. */
const SAFE = /^[\w.@+-]{1,128}$/;
const NAME = /\bname["']?\s*[:=]\s*["']([^"']+)["']/;

/** Candidates for the last word, which may be empty. Never rejects. */
export async function candidates(program: Command, words: readonly string[]): Promise<readonly Candidate[]> {
  const current = words.at(-1) ?? "";
  const line = readLine(program, words.slice(0, -1));
  const found = await candidatesFor(line, current).catch(() => []);
  return found.filter(({ value }) => value.startsWith(current));
}

function readLine(program: Command, words: readonly string[]): Line {
  let command = program;
  let option: Option | undefined;
  let count = 0;
  const values = new Map<string, string>();
  for (const word of words) {
    if (option !== undefined) {
      values.set(option.long ?? "", word);
      option = undefined;
    } else if (word.startsWith("-")) {
      option = command.options.find(({ long, short, required }) => required && (word === long || word === short));
    } else {
      const inner = command.commands.find((one) => one.name() === word);
      if (inner === undefined) count++;
      else command = inner;
    }
  }
  const args = command.registeredArguments;
  const last = args.at(-1);
  return { command, option, argument: args[count] ?? (last?.variadic === true ? last : undefined), values };
}

async function candidatesFor(
  { command, option, argument, values }: Line,
  current: string,
): Promise<readonly Candidate[]> {
  if (option !== undefined) {
    if (option.argChoices !== undefined) return option.argChoices.map(plain);
    return option.long === "--tool" ? toolNames(values) : [];
  }
  if (current.startsWith("-")) {
    const options = command.options.filter(({ hidden, long }) => !hidden && long !== undefined);
    return [...options.map(({ long = "", description }) => ({ value: long, about: short(description) })), HELP];
  }
  const commands = command.commands.map((one) => ({ value: one.name(), about: short(one.description()) }));
  if (commands.length > 0) return commands;
  return argument === undefined ? [] : argumentValues(command, argument, values);
}

const HELP: Candidate = { value: "--help", about: "show the command's help" };

async function argumentValues(
  command: Command,
  argument: Argument,
  values: Line["values"],
): Promise<readonly Candidate[]> {
  if (argument.argChoices !== undefined) return argument.argChoices.map(plain);
  switch (`${command.name()} ${argument.name()}`) {
    case "run tool":
    case "explain tool":
      return toolNames(values);
    case "docs words":
      return (await readPages()).map(({ name, title }) => ({ value: name, about: title }));
    case "complete shell":
      return ["bash", "zsh", "fish", "powershell"].map(plain);
    default:
      return command.parent?.name() === "calls" && /^(?:id|other)$/.test(argument.name())
        ? callIds(values, command.name())
        : [];
  }
}

/** Names of the tools that the command would find, read from their files: no tool is loaded. */
async function toolNames(values: Line["values"]): Promise<readonly Candidate[]> {
  const named = values.get("--tools");
  const places = named === undefined ? await configuredTools(values.get("--config")) : [named];
  const sources = (
    await Promise.all(places.map((place) => findSources(place, { runtimes: RUNTIMES }).catch(() => [])))
  ).flat();
  const names = await Promise.all(
    sources.slice(0, FILES_MAX).map(async ({ kind, path: file, name }) => {
      const text = kind === "module" ? (await readFile(file, "utf8").catch(() => "")).slice(0, FILE_MAX_CHARS) : "";
      return NAME.exec(text)?.[1] ?? name;
    }),
  );
  return names
    .filter((name) => SAFE.test(name))
    .toSorted()
    .map(plain);
}

async function configuredTools(given: string | undefined): Promise<readonly string[]> {
  const file = await chosenConfig(given);
  const value = file === undefined ? {} : (await readConfigFile(file)).value;
  const { tools, connectors } = isObject(value) ? value : {};
  const samples = sampleTools();
  if (!Array.isArray(tools) || file === undefined)
    return samples === undefined || hasMembers(connectors) ? [] : [samples];
  return tools.flatMap((tool: unknown) => {
    const place: unknown = isObject(tool) ? tool["path"] : tool;
    return typeof place === "string" ? [path.resolve(path.dirname(file), place)] : [];
  });
}

function hasMembers(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

/** Commands for calls that wait. */
const WAITING: ReadonlySet<string> = new Set(["approve", "refuse", "settle", "signal", "cancel", "result"]);

/** Ids of the newest calls of the chosen server, if it answers soon. */
async function callIds(values: Line["values"], command: string): Promise<readonly Candidate[]> {
  const response = await ask(remoteServer(values.get("--url") ?? SERVER, values.get("--key-env")), {
    path: `v1/calls?limit=${CALLS_MAX}${WAITING.has(command) ? "&state=paused" : ""}`,
    accept: "application/json",
    signal: AbortSignal.timeout(SERVER_MS),
    role: "calls",
    missing: "calls",
  });
  const page: unknown = await response.json();
  const calls: unknown = isObject(page) ? page["calls"] : undefined;
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown) => {
    const { id, tool, code, state } = isObject(call) ? call : {};
    if (typeof id !== "string" || !SAFE.test(id)) return [];
    const about = [tool, code, state].filter((one) => typeof one === "string" && SAFE.test(one)).join(" ");
    return [{ value: id, about }];
  });
}

function plain(value: string): Candidate {
  return { value, about: "" };
}

function short(text: string): string {
  return text.split(/[;:(\n]/, 1)[0]?.trim() ?? "";
}
