import { Command } from "commander";
import type { Snippet, SnippetDefinition } from "../kernel/engine/snippets/snippet.ts";
import { CliError, EXIT } from "./exit.ts";
import { parseJsonText } from "./json-text.ts";
import { print, printJson, say, visible } from "./output.ts";
import { ask, readJson, readText, type RemoteRequest, remoteServer } from "./remote-server.ts";

interface Options {
  readonly url: string;
  readonly keyEnv?: string;
  readonly tenant?: string;
  readonly json?: true;
}

interface SaveOptions extends Options {
  readonly description: string;
  readonly call?: string;
  readonly input?: string;
  readonly output?: string;
}

/** A program is read, checked and registered. */
const ASK_MS = 30_000;

/** `glovebox snippets`: programs that a running server has as tools of one tenant. */
export function snippetsCommand(): Command {
  const list = atServer(new Command("list")).description("list the snippets of a tenant").action(listSnippets);
  const show = atServer(new Command("show"))
    .argument("<name>", "the snippet's name, without snippets.")
    .description("show a snippet with its program")
    .action(showSnippet);
  const save = atServer(new Command("save"))
    .argument("<name>", "the snippet's name: its tool is called snippets.NAME")
    .argument("[file]", "file with the program: the body of an async function in TypeScript")
    .description("save a program as a tool of one tenant, in the place of one of the same name")
    .requiredOption("--description <text>", "what it does, for those who call it")
    .option("--call <id>", "save the program of this kept call of run_code, instead of a file")
    .option("--input <file>", "JSON Schema of its input; default with --call: made of the call's")
    .option("--output <file>", "JSON Schema that each output has to match")
    .action(saveSnippet);
  const remove = atServer(new Command("delete"))
    .argument("<name>", "the snippet's name, without snippets.")
    .description("delete a snippet: calls that run end on it")
    .action(deleteSnippet);
  const command = new Command("snippets").description("programs that are tools of one tenant, of a running server");
  for (const each of [list, show, save, remove]) command.addCommand(each);
  return command;
}

function atServer(command: Command): Command {
  return command
    .option("--tenant <name>", "the tenant, for a key without one of its own")
    .option("--url <url>", "the server's address", "http://127.0.0.1:8080")
    .option("--key-env <name>", "environment variable with a key that has the role admin")
    .option("--json", "print every detail as JSON");
}

async function listSnippets(options: Options): Promise<void> {
  const snippets = (await readJson(await send(options, ""))) as readonly Snippet[];
  if (options.json === true) return printJson(snippets);
  if (snippets.length === 0) say("there are no snippets");
  for (const snippet of snippets) print(lineOf(snippet));
}

function lineOf({ name, version, tools, unusable, description }: Snippet): string {
  const what = unusable ?? description.split("\n", 1)[0] ?? "";
  const parts = [`snippets.${name}`, version.slice(0, 12), tools.join(", ") || "no tools"];
  return [...parts, unusable === null ? what : `cannot be called: ${what}`].map(visible).join("  ");
}

async function showSnippet(name: string, options: Options): Promise<void> {
  const snippet = (await readJson(await send(options, name))) as Snippet;
  if (options.json === true) return printJson(snippet);
  print(lineOf(snippet));
  for (const line of snippet.code.split("\n")) print(visible(line));
}

async function saveSnippet(name: string, file: string | undefined, options: SaveOptions): Promise<void> {
  const { description, call, input, output } = options;
  if ((file === undefined) === (call === undefined))
    throw new CliError(EXIT.USAGE, "name either the file of a program, or --call with the id of a kept call");
  const body: Omit<SnippetDefinition, "name"> = {
    description,
    ...(file === undefined ? {} : { code: await readText(file) }),
    ...(call === undefined ? {} : { callId: call }),
    ...(input === undefined ? {} : { inputSchema: await readSchema(input) }),
    ...(output === undefined ? {} : { outputSchema: await readSchema(output) }),
  };
  const saved = (await readJson(await send(options, name, { method: "PUT", body: JSON.stringify(body) }))) as Snippet;
  if (options.json === true) return printJson(saved);
  print(lineOf(saved));
}

async function readSchema(file: string): Promise<SnippetDefinition["inputSchema"] & object> {
  return parseJsonText(await readText(file), file) as SnippetDefinition["inputSchema"] & object;
}

async function deleteSnippet(name: string, options: Options): Promise<void> {
  await send(options, name, { method: "DELETE" });
  if (options.json === true) return printJson({ name, removed: true });
  say(`snippets.${visible(name)} is deleted`);
}

function send(
  { url, keyEnv, tenant }: Options,
  name: string,
  request: Pick<RemoteRequest, "method" | "body"> = {},
): Promise<Response> {
  const query = tenant === undefined ? "" : `?tenant=${encodeURIComponent(tenant)}`;
  return ask(remoteServer(url, keyEnv), {
    ...request,
    path: `v1/snippets${name === "" ? "" : `/${encodeURIComponent(name)}`}${query}`,
    accept: "application/json",
    signal: AbortSignal.timeout(ASK_MS),
    role: "admin",
    missing: "such snippet",
    isForbiddenExplained: true,
  });
}
