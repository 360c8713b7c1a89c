import { Command, Option } from "commander";
import type { CallComparison } from "../kernel/engine/call-history.ts";
import type { CallReplay } from "../kernel/engine/replay/call-replays.ts";
import type { CallPage, CallSummary, StoredAsk, StoredCall } from "../kernel/store/calls/call-record.ts";
import { CALL_STATES } from "../kernel/store/calls/durable/durable-call.ts";
import type { DurablePage } from "../kernel/store/calls/durable/durable-step.ts";
import { durableCommands, lineOfDurable, printDurable, type ShownCall, withPlace } from "./durable-calls.ts";
import { openPlace, type PlaceOptions, SERVER } from "./durable-place.ts";
import { callFileCommands } from "./call-files.ts";
import { CliError, EXIT } from "./exit.ts";
import { print, printJson, say, visible } from "./output.ts";
import { ask, eventsOf, readJson, remoteServer } from "./remote-server.ts";
import { wholeNumber } from "./setting-flags.ts";

interface ServerOptions {
  readonly url: string;
  readonly keyEnv?: string;
  readonly json?: true;
}

type PlacedOptions = PlaceOptions & Pick<ServerOptions, "json">;

type Filters = Readonly<Partial<Record<(typeof FILTERS)[number], string>>> & { readonly stale?: true };
type WatchOptions = ServerOptions & Filters;
type ListOptions = PlacedOptions & Filters;

/** Filters of kept calls: those of a file are exported. */
const OF_KEPT = ["parent", "code", "since", "until", "text"] as const;
const FILTERS = ["state", "tool", "tenant", "parent", "code", "since", "until", "text", "limit", "cursor"] as const;
const ASK_MS = 15_000;
/** A replay may wait for others. */
const REPLAY_MS = 10 * 60 * 1_000;
const EVENT_MAX = 1024 * 1024;
const KEEPS_NONE = "calls, as it keeps none";
const LIMIT_MAX = 200;
const ERROR_SHOWN = 100;

/** `glovebox calls`: the calls that a server has kept. */
export function callsCommand(): Command {
  const list = withFilter(withPlace(new Command("list"), "calls"))
    .description(
      "list kept calls of a running server, or with --state, --stale or --file calls that wait or have waited, newest first",
    )
    .addOption(new Option("--state <state>", "calls that pause, and are in this state").choices(CALL_STATES))
    .option("--stale", "calls that pause, have not ended, and whose tool is gone or another one now")
    .option("--since <time>", "only calls that began then or later, as 2026-01-31T12:00:00Z")
    .option("--until <time>", "only calls that began then or earlier")
    .option("--limit <number>", `maximum number of calls, at most ${LIMIT_MAX}`, wholeNumber(1, LIMIT_MAX), "50")
    .option("--cursor <cursor>", "go on where the list before ended")
    .action(listCalls);
  const show = withPlace(new Command("show"), "calls")
    .argument("<id>", "id of the call")
    .description("show a kept call, with its values where they were kept")
    .action(showCall);
  const watch = withFilter(withServer(new Command("watch")))
    .description("print calls of a running server as they end, until it is interrupted")
    .action(watchCalls);
  const replay = withServer(new Command("replay"))
    .argument("<id>", "id of the call")
    .description("run a kept call again on its server, with the answers that it had, and compare the result")
    .action(replayKeptCall);
  const diff = withServer(new Command("diff"))
    .argument("<id>", "id of the call on the left")
    .argument("<other>", "id of the call on the right")
    .description("compare outputs, errors, log lines and capability calls of two kept calls")
    .action(diffCalls);
  const calls = new Command("calls").description("calls that a server has kept, and calls that wait");
  for (const command of [list, show, ...durableCommands(), watch, replay, diff, ...callFileCommands()])
    calls.addCommand(command);
  return calls;
}

function withFilter(command: Command): Command {
  return command
    .option("--tool <name>", "only calls of this tool")
    .option("--tenant <name>", "only calls of this tenant")
    .option("--parent <id>", "only calls that this call has made")
    .option("--code <code>", "only calls that ended so: ok, or an error's code")
    .option("--text <text>", "only calls whose error has this text");
}

function withServer(command: Command): Command {
  return command
    .option("--url <url>", "the server's address", "http://127.0.0.1:8080")
    .option("--key-env <name>", "environment variable with a key that has the role calls")
    .option("--json", "print every detail as JSON");
}

interface Request {
  readonly path: string;
  readonly missing: string;
  readonly accept?: string;
  readonly post?: true;
  readonly signal?: AbortSignal;
}

function send({ url = SERVER, keyEnv }: PlaceOptions, request: Request): Promise<Response> {
  const { path, missing, accept = "application/json", post, signal = AbortSignal.timeout(ASK_MS) } = request;
  const method = post === undefined ? {} : { method: "POST" as const, body: "{}" };
  return ask(remoteServer(url, keyEnv), { path, accept, signal, role: "calls", missing, ...method });
}

async function read(options: PlaceOptions, path: string, missing: string): Promise<unknown> {
  return readJson(await send(options, { path, missing }));
}

function queryOf(options: Filters): string {
  const given = FILTERS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]]));
  return new URLSearchParams([...given, ...(options.stale === true ? [["stale", "true"]] : [])]).toString();
}

async function listCalls(options: ListOptions): Promise<void> {
  const path = `v1/calls?${queryOf(options)}`;
  const page = isAtServer(options)
    ? ((await read(options, path, KEEPS_NONE)) as CallPage | DurablePage)
    : await listFile(options);
  if (options.json === true) return printJson(page);
  for (const call of page.calls) print("waits" in call ? lineOfDurable(call) : lineOf(call));
  if (page.cursor !== null) say(`there may be more: --cursor ${visible(page.cursor)}`);
}

/** Calls of a file that wait or have waited. */
async function listFile(options: ListOptions): Promise<DurablePage> {
  const odd = OF_KEPT.find((name) => options[name] !== undefined);
  if (odd !== undefined) {
    const words = `--${odd} is for kept calls of a server: glovebox calls export prints those of a file`;
    throw new CliError(EXIT.USAGE, words);
  }
  await using place = await openPlace(options, "read");
  return await place.list(Object.fromEntries(new URLSearchParams(queryOf(options))));
}

function lineOf({ id, tool, tenant, code, error, beginMs, wallMs }: CallSummary): string {
  const time = new Date(beginMs).toISOString();
  const words = [time, id, code, tool, tenant === "" ? "-" : tenant, `${wallMs.toFixed(1)} ms`];
  return [...words, ...(error === null ? [] : [error.slice(0, ERROR_SHOWN)])].map(visible).join("  ");
}

async function showCall(id: string, options: PlacedOptions): Promise<void> {
  const call = await shownCall(id, options);
  if (options.json === true) return printJson(call);
  if ("waits" in call) return printDurable(call);
  const { format: _format, detail, beginMs, ...summary } = call;
  const { asks = [], turns: _turns, explanation: _explanation, ...values } = detail ?? {};
  const lines = { ...summary, begin: new Date(beginMs).toISOString(), ...values };
  for (const [name, value] of Object.entries(lines)) {
    if (value !== null) print(`${name}: ${visible(typeof value === "string" ? value : JSON.stringify(value))}`);
  }
  for (const ask of asks) print(`ask: ${lineOfAsk(ask)}`);
  if (detail === null) print("its arguments, output and log lines were not kept");
}

async function shownCall(id: string, options: PlacedOptions): Promise<StoredCall | ShownCall> {
  const path = `v1/calls/${encodeURIComponent(id)}`;
  if (isAtServer(options)) return (await read(options, path, "call of this id")) as StoredCall | ShownCall;
  await using place = await openPlace(options, "read");
  return await place.get(id);
}

function isAtServer({ file, tools, config }: PlaceOptions): boolean {
  return file === undefined && tools === undefined && config === undefined;
}

function lineOfAsk({ isReplayed, atMs, durationMs, rule, ...ask }: StoredAsk): string {
  const { capability, method, target, httpMethod, outcome } = ask;
  // A server of an earlier version has none.
  const about = typeof httpMethod === "string" ? `${httpMethod} ${target}` : target;
  const words = [`${capability}.${method}`, about ?? "-", outcome, rule ?? "no rule", `at ${atMs.toFixed(1)} ms`];
  return [...words, `${durationMs.toFixed(1)} ms`, ...(isReplayed ? ["from the journal"] : [])].map(visible).join("  ");
}

/** Prints a line for each call, until the server ends the stream. */
async function watchCalls(options: WatchOptions): Promise<void> {
  const path = `v1/calls?${queryOf(options)}`;
  const never = new AbortController().signal;
  const response = await send(options, { path, missing: KEEPS_NONE, accept: "text/event-stream", signal: never });
  for await (const events of eventsOf(response, EVENT_MAX, "call")) {
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data === undefined || !event.startsWith("event: call\n")) continue;
      print(options.json === true ? data : lineOf(JSON.parse(data) as CallSummary));
    }
  }
  say("the server has ended the stream");
}

/** Runs a kept call again on its server: the same result is the exit code 0. */
export async function replayKeptCall(id: string, options: ServerOptions): Promise<void> {
  const path = `v1/calls/${encodeURIComponent(id)}/replay`;
  const signal = AbortSignal.timeout(REPLAY_MS);
  const response = await send(options, { path, missing: "call of this id", post: true, signal });
  const { verdict, differences } = (await readJson(response)) as Pick<CallReplay, "verdict" | "differences">;
  report(options, { verdict, differences }, verdict === "same", "glovebox: same result as kept");
}

async function diffCalls(id: string, other: string, options: ServerOptions): Promise<void> {
  const query = new URLSearchParams({ with: other }).toString();
  const path = `v1/calls/${encodeURIComponent(id)}/comparison?${query}`;
  const compared = (await read(options, path, "two calls of these ids")) as CallComparison;
  report(options, compared, compared.isSame, "glovebox: the calls are the same");
}

function report(
  { json }: ServerOptions,
  answer: Pick<CallReplay, "verdict" | "differences"> | CallComparison,
  isSame: boolean,
  same: string,
): void {
  if (json === true) printJson(answer);
  else for (const { pointer, left, right } of answer.differences) print(`${visible(pointer)}: ${sides(left, right)}`);
  if (json !== true && isSame) say(same);
  process.exitCode = isSame ? EXIT.OK : EXIT.FAILED;
}

function sides(left: unknown, right: unknown): string {
  const shown = (value: unknown): string => (value === undefined ? "nothing" : visible(JSON.stringify(value)));
  return `${shown(left)} -> ${shown(right)}`;
}
