import { Command } from "commander";
import type { CallPage, CallSummary, StoredCall } from "../../store/calls/call-record.ts";
import { print, printJson, say, visible } from "./output.ts";
import { ask, remoteServer } from "./remote-server.ts";
import { wholeNumber } from "./setting-flags.ts";

interface ServerOptions {
  readonly url: string;
  readonly keyEnv?: string;
  readonly json?: true;
}

type ListOptions = ServerOptions & Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

const FILTERS = ["tool", "tenant", "code", "since", "until", "text", "limit", "cursor"] as const;
const ASK_MS = 15_000;
const LIMIT_MAX = 200;
const ERROR_SHOWN = 100;

/** `glovebox calls`: the calls that a server has kept. */
export function callsCommand(): Command {
  const list = withServer(new Command("list"))
    .description("list kept calls of a running server, newest first")
    .option("--tool <name>", "only calls of this tool")
    .option("--tenant <name>", "only calls of this tenant")
    .option("--code <code>", "only calls that ended so: ok, or an error's code")
    .option("--since <time>", "only calls that began then or later, as 2026-01-31T12:00:00Z")
    .option("--until <time>", "only calls that began then or earlier")
    .option("--text <text>", "only calls whose error has this text")
    .option("--limit <number>", `maximum number of calls, at most ${LIMIT_MAX}`, wholeNumber(1, LIMIT_MAX), "50")
    .option("--cursor <cursor>", "go on where the list before ended")
    .action(listCalls);
  const show = withServer(new Command("show"))
    .argument("<id>", "id of the call")
    .description("show a kept call, with its values where they were kept")
    .action(showCall);
  return new Command("calls").description("calls that a server has kept").addCommand(list).addCommand(show);
}

function withServer(command: Command): Command {
  return command
    .option("--url <url>", "the server's address", "http://127.0.0.1:8080")
    .option("--key-env <name>", "environment variable with a key that has the role calls")
    .option("--json", "print every detail as JSON");
}

async function read({ url, keyEnv }: ServerOptions, path: string, missing: string): Promise<unknown> {
  const response = await ask(remoteServer(url, keyEnv), {
    path,
    accept: "application/json",
    signal: AbortSignal.timeout(ASK_MS),
    role: "calls",
    missing,
  });
  return response.json();
}

async function listCalls(options: ListOptions): Promise<void> {
  const given = FILTERS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]));
  const query = new URLSearchParams(given);
  const page = (await read(options, `v1/calls?${query.toString()}`, "calls, as it keeps none")) as CallPage;
  if (options.json === true) return printJson(page);
  for (const call of page.calls) print(lineOf(call));
  if (page.cursor !== null) say(`there may be more: --cursor ${visible(page.cursor)}`);
}

function lineOf({ id, tool, tenant, code, error, beginMs, wallMs }: CallSummary): string {
  const time = new Date(beginMs).toISOString();
  const words = [time, id, code, tool, tenant === "" ? "-" : tenant, `${wallMs.toFixed(1)} ms`];
  return [...words, ...(error === null ? [] : [error.slice(0, ERROR_SHOWN)])].map(visible).join("  ");
}

async function showCall(id: string, options: ServerOptions): Promise<void> {
  const call = (await read(options, `v1/calls/${encodeURIComponent(id)}`, "call of this id")) as StoredCall;
  if (options.json === true) return printJson(call);
  const { format: _format, detail, beginMs, ...summary } = call;
  const lines = { ...summary, begin: new Date(beginMs).toISOString(), ...detail };
  for (const [name, value] of Object.entries(lines)) {
    if (value !== null) print(`${name}: ${visible(typeof value === "string" ? value : JSON.stringify(value))}`);
  }
  if (detail === null) print("its arguments, output and log lines were not kept");
}
