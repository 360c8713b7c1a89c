import { access, constants, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { WAIT_MAX_MS } from "../kernel/engine/durable/durable-calls.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import { type EngineOptions, STATE_DIR } from "../kernel/engine/options.ts";
import type { CallWait } from "../kernel/store/calls/durable/durable-call.ts";
import { IN_MEMORY } from "../kernel/store/sqlite/layout.ts";
import type { Config } from "../server/config/schema.ts";
import { openEngine, type Sources } from "./open-engine.ts";
import { forShell, say } from "./output.ts";

/** An engine, and the place of its calls that pause. */
export interface KeptEngine {
  readonly engine: Engine;
  /** Options of the command itself, with which it was started. */
  readonly options: EngineOptions;
  /**
   * The sources and the store for continuing the calls by a command; `file` is `null` for a store that servers share.
   */
  readonly place: Sources & { readonly file: string | null };
}

const ENGINE = { workers: 1, executor: { kind: "process", spare: false } } as const;
const WAIT_S = WAIT_MAX_MS / 1_000;

/** Starts an engine for one call. If that may pause, it is kept in a file, as it has to outlive this process. */
export function openForCall(
  sources: Sources,
  values: Config,
  mayPause: (engine: Engine) => boolean,
): Promise<KeptEngine> {
  return openKept(sources, values, { options: ENGINE, resume: false }, mayPause);
}

interface KeptOptions {
  readonly options: EngineOptions;
  /** Whether the engine continues existing calls. */
  readonly resume: boolean;
  /** Called with the reason if no file can be made, and calls stay in memory. Default: calls that pause fail. */
  readonly onUnusable?: (why: string) => void;
}

/** Starts an engine. If its calls may pause, they are kept in a file. */
export async function openKept(
  sources: Sources,
  values: Config,
  { options, resume, onUnusable }: KeptOptions,
  mayPause: (engine: Engine) => boolean,
): Promise<KeptEngine> {
  const engine = await openEngine(sources, values, options);
  const { keep, path, url, secret } = values.calls ?? { keep: "nothing" };
  if (keep !== "nothing" && url !== undefined) return { engine, options, place: { ...sources, file: null } };
  const isStored = path !== undefined && path !== IN_MEMORY;
  const file = isStored ? path : join(values.stateDir ?? STATE_DIR, "calls.sqlite");
  const place = { ...sources, file };
  if ((keep !== "nothing" && path !== IN_MEMORY) || !mayPause(engine)) return { engine, options, place };
  const why = onUnusable === undefined ? null : await obstacleTo(file);
  if (why !== null) {
    onUnusable?.(`${file} cannot be written (${why})`);
    return { engine, options, place };
  }
  // Only now: other calls leave no trace.
  await engine.close();
  const sealed = secret === undefined || url !== undefined ? {} : { secret };
  const kept = { ...options, calls: { path: file, resume, ...sealed } };
  return { engine: await openEngine(sources, values, kept), options: kept, place };
}

/** The reason why nothing can be written beside a file, as the error's code; `null` if it can. Makes the folder. */
async function obstacleTo(file: string): Promise<string | null> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await access(dirname(file), constants.W_OK);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "UNKNOWN";
  }
}

/** Whether calls of a tool, or of a tool that they call, may pause; without a name, calls of any tool. */
export function mayToolsPause(engine: Engine, { policy }: Config, name?: string): boolean {
  if (policy?.approvals !== undefined) return true;
  const infos = engine.list();
  const own = name === undefined ? infos : infos.filter((info) => info.name === name);
  const reached = own.some(({ capabilities }) => capabilities["tools"] !== undefined) ? infos : own;
  return reached.some(({ approval, capabilities }) => approval !== undefined || capabilities["pause"] !== undefined);
}

/** Prints the commands that continue a paused call. Its engine is still open. */
export async function sayHowToGoOn(id: string, { engine, place }: KeptEngine): Promise<void> {
  const { file, tools, config } = place;
  const options = file === null ? {} : { file, tools, config };
  const words = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
  for (const line of await linesOf(engine, id, words)) say(`glovebox: ${line}`);
}

/** As deep as calls call others: a call waits for one below it. */
async function linesOf(engine: Engine, id: string, place: readonly string[]): Promise<readonly string[]> {
  const call = await engine.calls.durable.get(id);
  const open = (call?.waits ?? []).filter(({ state }) => state === "open");
  const isOneOfMany = open.filter(({ kind }) => kind === "approval").length > 1;
  const lines: string[] = [];
  for (const wait of open) {
    if (wait.kind === "call") lines.push(...(await linesOf(engine, wait.id, place)));
    else lines.push(...linesOfWait(id, wait, isOneOfMany, place));
  }
  if (open.some(({ kind }) => kind !== "call")) return lines;
  return [...lines, `${lines.length === 0 ? "its result" : "then its result"}: ${resultCommand(id, place)}`];
}

function linesOfWait(
  id: string,
  wait: Exclude<CallWait, { kind: "call" }>,
  isOneOfMany: boolean,
  place: readonly string[],
): readonly string[] {
  const { step } = wait;
  switch (wait.kind) {
    case "approval":
      return [`decide it: ${command("approve", id, isOneOfMany ? ["--wait", `${step}`, ...place] : place)}`];
    case "signal": {
      const { name } = wait;
      const payload = ["--payload", "null", ...place];
      // After `--`, a name that begins with a hyphen is no option.
      const rest = name.startsWith("-") ? [...payload, "--", name] : [name, ...payload];
      return [`send the signal, with its payload: ${command("signal", id, rest)}`];
    }
    case "time":
      return [`its result, after ${wait.until}: ${resultCommand(id, place)}`];
    case "outcome": {
      const settle = (what: string): string => command("settle", id, ["--wait", `${step}`, what, ...place]);
      const { asked } = wait;
      return [`if ${asked} has happened: ${settle("--happened")}`, `if it has not: ${settle("--did-not-happen")}`];
    }
  }
}

function resultCommand(id: string, place: readonly string[]): string {
  return command("result", id, ["--wait", `${WAIT_S}`, ...place]);
}

function command(name: string, id: string, rest: readonly string[]): string {
  return ["glovebox", "calls", name, id, ...rest].map(forShell).join(" ");
}
