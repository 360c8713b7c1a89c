import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Command } from "commander";
import { RegistryError } from "../contrib/agentspace/records.ts";
import type { RecordSummary } from "../contrib/agentspace/summary.ts";
import { ContractError } from "../kernel/tool/contracts/contract.ts";
import { openRecords, type RecordSource, type RecordStore } from "./agentspace-records.ts";
import { CliError, EXIT } from "./exit.ts";
import { CONFIG } from "./open-engine.ts";
import { print, printJson, visible } from "./output.ts";
import { parseJson } from "./remote-server.ts";
import { wholeNumber } from "./setting-flags.ts";

interface Options extends RecordSource {
  readonly json?: true;
  readonly replace?: true | string;
  readonly tag?: readonly string[];
  readonly type?: string;
  readonly subType?: string;
  readonly limit?: string;
}

const HITS_DEFAULT = "10";
const HITS_MAX = 100;

/** `glovebox agentspace`: the records of AgentSpace's registry, in a file or of a server. */
export function agentspaceCommand(): Command {
  const command = new Command("agentspace").description("manage AgentSpace's registry of tools");
  const verb = (name: string, description: string): Command =>
    command
      .command(name)
      .description(description)
      .option("--url <url>", "the address of a server whose registry is meant, instead of the configuration's")
      .option("--key-env <name>", "environment variable with a key for that server")
      .option(...CONFIG)
      .option(
        "--tenant <name>",
        "tenant of the tools, in the configuration's registry (default: the tools of all tenants)",
      )
      .option("--json", "print every detail as JSON");
  verb("register", "register a tool by its record")
    .argument("<file>", "file of the record, as JSON; - for stdin")
    .option("--replace [version]", "replace the record of this id, or only that version of it")
    .action(register);
  filtered(verb("list", "list the records")).action(list);
  filtered(verb("search", "find tools by words, the best first").argument("<words...>", "what the tool is to do"))
    .option("--limit <number>", "maximum number of tools", wholeNumber(1, HITS_MAX), HITS_DEFAULT)
    .action(search);
  verb("man", "print a tool's manual page").argument("<id>", "the tool's id").action(man);
  verb("versions", "list the versions of a record, the latest first")
    .argument("<id>", "the tool's id")
    .action(versions);
  verb("remove", "remove a record").argument("<id>", "the tool's id").action(remove);
  return command;
}

function filtered(command: Command): Command {
  return command
    .option("--tag <tag...>", "only records with these tags")
    .option("--type <type>", "only records of this type")
    .option("--sub-type <type>", "only records of this sub type");
}

async function register(file: string, { json, replace, ...source }: Options): Promise<void> {
  const record = await readRecordFile(file);
  await withRecords(source, async (records) => {
    const stored = await records.register(record, replace ?? false);
    if (json === true) return printJson(stored);
    print(`${visible(stored.tool_id)}: registered, revision ${stored.registration.revision}`);
  });
}

async function list(options: Options): Promise<void> {
  await withRecords(options, async (records) => show(await records.list(filterOf(options)), options));
}

async function search(words: readonly string[], options: Options): Promise<void> {
  const { limit = HITS_DEFAULT } = options;
  await withRecords(options, async (records) => {
    show(await records.search(words.join(" "), filterOf(options), Number(limit)), options);
  });
}

async function man(id: string, { json, ...source }: Options): Promise<void> {
  await withRecords(source, async (records) => {
    const page = await records.man(id);
    if (json === true) printJson({ tool_id: id, page });
    else print(page.trimEnd());
  });
}

async function versions(id: string, { json, ...source }: Options): Promise<void> {
  await withRecords(source, async (records) => {
    const found = await records.versions(id);
    if (json === true) return printJson(found);
    for (const { revision, version = "-", registered_by: by, registered_at: at, in_force: isInForce } of found) {
      print(visible(`${revision}  ${version}  ${at}  ${by}${isInForce ? "  in force" : ""}`));
    }
  });
}

async function remove(id: string, { json, ...source }: Options): Promise<void> {
  await withRecords(source, async (records) => {
    await records.remove(id);
    if (json === true) printJson({ tool_id: id, removed: true });
    else print(`${visible(id)}: removed`);
  });
}

/** Runs a command on records. Errors of the registry become those of commands. */
async function withRecords(source: RecordSource, work: (records: RecordStore) => Promise<void>): Promise<void> {
  await using records = await openRecords(source);
  try {
    await work(records);
  } catch (error) {
    if (error instanceof ContractError) throw new CliError(EXIT.INVALID, error.message);
    if (error instanceof RegistryError) throw new CliError(EXIT.FAILED, error.message);
    throw error;
  }
}

function filterOf({ tag: tags, type, subType }: Options) {
  return {
    ...(tags === undefined ? {} : { tags }),
    ...(type === undefined ? {} : { type }),
    ...(subType === undefined ? {} : { subType }),
  };
}

function show(found: readonly RecordSummary[], { json }: Options): void {
  if (json === true) return printJson(found);
  const width = Math.max(...found.map(({ tool_id: id }) => id.length));
  for (const { tool_id: id, version = "-", description } of found) {
    print(visible(`${id.padEnd(width)}  ${version.padEnd(7)}  ${description.split("\n")[0] ?? ""}`));
  }
}

async function readRecordFile(file: string): Promise<unknown> {
  const json = file === "-" ? await text(process.stdin) : await readFile(file, "utf8").catch(() => null);
  if (json === null) throw new CliError(EXIT.USAGE, `${file} cannot be read`);
  const record = parseJson(json);
  if (record === undefined) throw new CliError(EXIT.INVALID, `${file} is not JSON`);
  return record;
}
