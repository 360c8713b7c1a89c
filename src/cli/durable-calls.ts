import { createInterface } from "node:readline/promises";
import { Command } from "commander";
import { isObject, type JsonValue } from "../kernel/base/json.ts";
import { emptyMetadata, failure, type ToolResult } from "../kernel/base/result.ts";
import { toolError } from "../kernel/base/errors.ts";
import { type UndoneEffect, WAIT_MAX_MS } from "../kernel/engine/durable/durable-calls.ts";
import type {
  CallEffect,
  CallRun,
  CallWait,
  Decision,
  DurableCall,
  DurableCallDetail,
} from "../kernel/store/calls/durable/durable-call.ts";
import { type DurablePlace, openPlace, type PlaceOptions, SERVER } from "./durable-place.ts";
import { CliError, EXIT } from "./exit.ts";
import { parseJsonText } from "./json-text.ts";
import { print, printJson, say, visible } from "./output.ts";
import { reportResult } from "./report-result.ts";
import { wholeNumber } from "./setting-flags.ts";

interface Options extends PlaceOptions {
  readonly json?: true;
}

interface DecideOptions extends Options {
  readonly wait?: string;
  readonly digest?: string;
  readonly arguments?: string;
  readonly data?: string;
  readonly happened?: string | true;
  readonly didNotHappen?: true;
  readonly reason?: string;
  readonly actor?: string;
  readonly yes?: true;
}

const STEP_MAX = 1_000_000;
const WAIT_MAX_S = WAIT_MAX_MS / 1_000;
/** Interval of looks at a call that continues in this process, in seconds. */
const LOOK_S = 1;

/** `glovebox calls approve`, `refuse`, `settle`, `signal`, `cancel`, `undo` and `result`: calls that wait. */
export function durableCommands(): readonly Command[] {
  const approve = withPlace(new Command("approve"), "approve")
    .argument("<id>", "id of the call")
    .description("approve what a call waits for: it is shown first, and runs as it was shown")
    .option("--wait <step>", "which approval, where the call waits for several", wholeNumber(0, STEP_MAX))
    .option("--digest <digest>", "the digest of what was shown, where somebody has looked at it before")
    .option("--yes", "approve what there is, without a question")
    .option("--arguments <json>", "arguments to run with, instead of those shown")
    .option("--data <json>", "data for a call that asks by itself")
    .option("--reason <text>", "why")
    .option("--actor <name>", "who decides")
    .action(approveCall);
  const refuse = withPlace(new Command("refuse"), "approve")
    .argument("<id>", "id of the call")
    .description("refuse what a call waits for")
    .option("--wait <step>", "which approval, where the call waits for several", wholeNumber(0, STEP_MAX))
    .option("--reason <text>", "why")
    .option("--actor <name>", "who decides")
    .action((id: string, options: DecideOptions) => decide(id, options, () => Promise.resolve(refusalOf(options))));
  const settle = withPlace(new Command("settle"), "approve")
    .argument("<id>", "id of the call")
    .description("say what became of an effect that was under way when the call's process was lost")
    .option("--wait <step>", "which effect, where there are several", wholeNumber(0, STEP_MAX))
    .option("--happened [json]", "it has happened, with this answer (default: null)")
    .option("--did-not-happen", "it has not happened: the call does it now")
    .option("--reason <text>", "why")
    .option("--actor <name>", "who decides")
    .action((id: string, options: DecideOptions) => decide(id, options, () => Promise.resolve(outcomeOf(options))));
  const signal = withPlace(new Command("signal"), "execute")
    .argument("<id>", "id of the call")
    .argument("<name>", "name of the signal")
    .description("send a call a signal, which is kept until the call waits for it")
    .option("--payload <json>", "what comes with it (default: null)")
    .action(signalCall);
  const cancel = withPlace(new Command("cancel"), "execute")
    .argument("<id>", "id of the call")
    .description("end a call that waits")
    .option("--reason <text>", "why")
    .action(cancelCall);
  const undo = withPlace(new Command("undo"), "execute")
    .argument("<id>", "id of the call")
    .description("undo what the tools of a call have done that has ended, each once; exit with 4 while it waits")
    .option("--again", "try again what could not be undone, and only that", false)
    .action(undoCall);
  const result = withPlace(new Command("result"), "execute")
    .argument("<id>", "id of the call")
    .description("print the output of a call that has waited; exit with 4 while it waits still")
    .option("--wait <seconds>", "how long to wait for its end", wholeNumber(0, WAIT_MAX_S), "0")
    .action(resultOf);
  return [approve, refuse, settle, signal, cancel, undo, result];
}

/** Options of commands for calls that wait. */
export function withPlace(command: Command, role: string): Command {
  return command
    .option("--url <url>", `the server's address (default: ${SERVER})`)
    .option("--key-env <name>", `environment variable with a key that has the role ${role}`)
    .option("--file <path>", "the store of calls, without a server: the call goes on here")
    .option("--tools <dir>", "with --file: folder of tools (default: the configuration's tools, else the samples)")
    .option("--config <file>", "with --file: configuration file (default: the one in this folder, if present)")
    .option("--json", "print every detail as JSON");
}

/** A line for each call that waits or has waited. */
export function lineOfDurable({ id, tool, tenant, state, updatedAt, waits }: DurableCall): string {
  const open = waits.filter((wait) => wait.state === "open").map(lineOfWait);
  return [updatedAt, id, state, tool, tenant === "" ? "-" : tenant, ...open].map(visible).join("  ");
}

/** A call from a server: an earlier version omits the effects of the call. */
export type ShownCall = DurableCall & Partial<DurableCallDetail>;

/** Prints a call that waits or has waited. */
export function printDurable({ waits, result, ...shown }: ShownCall): void {
  const { runs = [], effects = [], effectsOmitted = 0, program = null, ...call } = shown;
  for (const [name, value] of Object.entries(call)) if (value !== null) print(`${name}: ${visible(String(value))}`);
  for (const wait of waits) {
    print(`wait ${wait.step}: ${wait.state}: ${visible(lineOfWait(wait))}`);
    if (wait.kind !== "approval") continue;
    print(`  arguments: ${visible(JSON.stringify(wait.arguments))}`);
    print(`  digest: ${visible(wait.digest)}`);
  }
  for (const run of runs) print(visible(lineOfRun(run)));
  if (effectsOmitted > 0) print(`${effectsOmitted} earlier effects are not shown`);
  for (const effect of effects) print(visible(lineOfDone(effect)));
  if (program !== null) print(["program:", ...program.split("\n").map((line) => `  ${visible(line)}`)].join("\n"));
  if (result !== null) print(`result: ${visible(JSON.stringify(result))}`);
}

function lineOfRun({ number, holder, begunAt, endedAt, outcome }: CallRun): string {
  const end = endedAt === null ? "runs still" : `${outcome} ${endedAt}`;
  return `run ${number}: begun ${begunAt}, ${end}, by ${holder}`;
}

function lineOfDone({ step, state, asked, tool, arguments: args, target, httpMethod, answeredAt }: CallEffect): string {
  const subject = [httpMethod, target ?? args].filter((part) => part !== null);
  return [`effect ${step}: ${state}: ${tool ?? asked}`, ...subject, ...(answeredAt === null ? [] : [answeredAt])].join(
    "  ",
  );
}

function lineOfWait(wait: CallWait): string {
  switch (wait.kind) {
    case "approval":
      return `approval${wait.tool === null ? "" : ` of ${wait.tool}`}: ${wait.message} (${wait.from})`;
    case "signal":
      return `signal ${wait.name}`;
    case "time":
      return `time ${wait.until}`;
    case "call":
      return `call ${wait.id}`;
    case "outcome":
      return `outcome of ${wait.asked}: it may have happened, or not: ${wait.arguments}`;
  }
}

function approveCall(id: string, options: DecideOptions): Promise<void> {
  return decide(id, options, async (place) => {
    const edited = { ...json("arguments", options.arguments), ...json("data", options.data) };
    const { digest = await shownDigest(await place.get(id), options) } = options;
    return { ...saidOf(options), decision: "approve", digest, ...edited };
  });
}

function refusalOf(options: DecideOptions): Decision {
  return { ...saidOf(options), decision: "refuse" };
}

function outcomeOf(options: DecideOptions): Decision {
  const { happened, didNotHappen } = options;
  if ((happened === undefined) === (didNotHappen === undefined))
    throw new CliError(EXIT.USAGE, "say either --happened or --did-not-happen");
  if (happened === undefined) return { ...saidOf(options), decision: "did_not_happen" };
  return { ...saidOf(options), decision: "happened", ...(happened === true ? {} : json("answer", happened)) };
}

function saidOf({ wait, reason, actor }: DecideOptions): Omit<Decision, "decision"> {
  return {
    ...(wait === undefined ? {} : { wait: Number(wait) }),
    ...(reason === undefined ? {} : { reason }),
    ...(actor === undefined ? {} : { actor }),
  };
}

async function decide(
  id: string,
  options: DecideOptions,
  decisionFor: (place: DurablePlace) => Promise<Decision>,
): Promise<void> {
  await using place = await openPlace(options);
  await tell(place, await place.decide(id, await decisionFor(place)), options);
}

/** The digest of the approved call, after a person has seen the call or waived that. */
async function shownDigest(call: DurableCall, { wait: step, yes }: DecideOptions): Promise<string> {
  const open = call.waits.filter(({ kind, state }) => kind === "approval" && state === "open");
  const meant = step === undefined ? open : open.filter((one) => one.step === Number(step));
  const [wait] = meant;
  if (wait?.kind !== "approval") throw new CliError(EXIT.FAILED, "the call waits for no approval there");
  if (meant.length > 1)
    throw new CliError(
      EXIT.USAGE,
      `the call waits for several approvals: --wait ${meant.map((one) => one.step).join(" or ")}`,
    );
  if (yes === true) return wait.digest;
  if (!process.stdin.isTTY)
    throw new CliError(
      EXIT.USAGE,
      "nobody can be asked here: --digest DIGEST says what was seen, or --yes approves it",
    );
  say(`${visible(lineOfWait(wait))}\n${visible(JSON.stringify(wait.arguments))}`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question("Approve it? [y/N] ");
    if (/^y(?:es)?$/i.test(answer.trim())) return wait.digest;
  } finally {
    terminal.close();
  }
  throw new CliError(EXIT.FAILED, "it was not approved");
}

async function signalCall(id: string, name: string, options: Options & { readonly payload?: string }): Promise<void> {
  await using place = await openPlace(options);
  const { payload = null } = json("payload", options.payload);
  await tell(place, await place.signal(id, name, payload as JsonValue), options);
}

async function cancelCall(id: string, options: Options & { readonly reason?: string }): Promise<void> {
  await using place = await openPlace(options);
  await tell(place, await place.cancel(id, options.reason), options);
}

async function undoCall(id: string, options: Options & { readonly again: boolean }): Promise<void> {
  await using place = await openPlace(options);
  const report = await place.undo(id, options.again);
  const { effects, error } = report;
  if (options.json === true) printJson(report);
  else if (effects !== null) print(effects.length === 0 ? "It had no effects." : effects.map(lineOfEffect).join("\n"));
  if (error !== null) throw new CliError(EXIT.FAILED, `nothing more is undone: ${error.message}`);
  if (effects === null) throw new CliError(EXIT.PAUSED, `it is not undone yet: see glovebox calls result ${report.id}`);
  if (effects.some(({ outcome }) => outcome !== "undone"))
    throw new CliError(EXIT.FAILED, "not all of it could be undone");
}

function lineOfEffect({ step, call, asked, tool, outcome, message }: UndoneEffect): string {
  return [
    call === undefined ? String(step) : `${call} ${step}`,
    outcome,
    tool ?? asked,
    ...(message === undefined ? [] : [message]),
  ]
    .map(visible)
    .join("  ");
}

async function resultOf(id: string, options: Options & { readonly wait: string }): Promise<void> {
  await using place = await openPlace(options);
  reportResult(asResult(await place.get(id, Number(options.wait))), options.json === true);
}

/** Reports the outcome of a call. If it continues in this process, that is when it has ended, or waits again. */
async function tell(
  place: DurablePlace,
  { id, state }: Pick<DurableCall, "id" | "state">,
  options: Options,
): Promise<void> {
  if (!place.isHere || state === "paused") {
    if (options.json === true) printJson(await place.get(id).catch(() => ({ id, state })));
    else print(`${visible(id)}: ${state}`);
    return;
  }
  let call = await place.get(id);
  while (call.state === "ready" || call.state === "running") call = await place.get(id, LOOK_S);
  reportResult(asResult(call), options.json === true);
}

function asResult({ id, callId, tool, state, result, waits }: DurableCall): ToolResult {
  if (state === "ended") return result as ToolResult;
  const open = waits.filter((wait) => wait.state === "open").map(lineOfWait);
  const words = `the call waits${open.length === 0 ? "" : ` for ${open.join(", and ")}`}; it is kept as ${id}`;
  return failure(toolError("paused", words, { id }), emptyMetadata(callId, tool, 0));
}

/** The value of an option in JSON, by its name. */
function json(name: string, text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  const value = parseJsonText(text, name === "answer" ? "the answer" : `--${name}`);
  if (name === "arguments" && !isObject(value)) throw new CliError(EXIT.INVALID, "--arguments is an object");
  return { [name]: value };
}
