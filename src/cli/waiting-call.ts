import { join } from "node:path";
import { WAIT_MAX_MS } from "../kernel/engine/durable/durable-calls.ts";
import type { Engine } from "../kernel/engine/engine.ts";
import { STATE_DIR } from "../kernel/engine/options.ts";
import type { CallWait } from "../kernel/store/calls/durable/durable-call.ts";
import { IN_MEMORY } from "../kernel/store/sqlite/layout.ts";
import type { Config } from "../server/config/schema.ts";
import { openEngine, type Sources } from "./open-engine.ts";
import { say } from "./output.ts";

/** An engine for one call, and the place of that call where it pauses. */
export interface OneCall {
  readonly engine: Engine;
  /** The sources and the store with which a command goes on with it; `file` is `null` for a store that servers share. */
  readonly place: Sources & { readonly file: string | null };
}

const ENGINE = { workers: 1, executor: { kind: "process", spare: false } } as const;
const WAIT_S = WAIT_MAX_MS / 1_000;

/** Starts an engine for one call. If that may pause, it is kept in a file, as it has to outlive this process. */
export async function openForCall(
  sources: Sources,
  values: Config,
  mayPause: (engine: Engine) => boolean,
): Promise<OneCall> {
  const engine = await openEngine(sources, values, ENGINE);
  const { keep, path, url, secret } = values.calls ?? { keep: "nothing" };
  if (keep !== "nothing" && url !== undefined) return { engine, place: { ...sources, file: null } };
  const isStored = path !== undefined && path !== IN_MEMORY;
  const file = isStored ? path : join(values.stateDir ?? STATE_DIR, "calls.sqlite");
  const place = { ...sources, file };
  if ((keep !== "nothing" && path !== IN_MEMORY) || !mayPause(engine)) return { engine, place };
  // Only now: other calls leave no trace.
  await engine.close();
  const sealed = secret === undefined || url !== undefined ? {} : { secret };
  const calls = { path: file, resume: false, ...sealed };
  return { engine: await openEngine(sources, values, { ...ENGINE, calls }), place };
}

/** Whether calls of these tools may pause, by themselves or in a tool that they call. */
export function mayToolsPause(engine: Engine, { policy }: Config, names: readonly string[]): boolean {
  if (policy?.approvals !== undefined) return true;
  const infos = engine.list();
  const own = infos.filter(({ name }) => names.includes(name));
  const reached = own.some(({ capabilities }) => capabilities["tools"] !== undefined) ? infos : own;
  return reached.some(({ approval, capabilities }) => approval !== undefined || capabilities["pause"] !== undefined);
}

/** Prints the commands with which a call goes on that has paused. Its engine is open still. */
export async function sayHowToGoOn(id: string, { engine, place }: OneCall): Promise<void> {
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

/** A word as shells read it back. */
function forShell(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
