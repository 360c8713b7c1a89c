/** `glovebox serve` as a process of its own. */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What a process of the command line is started with. */
export const MAIN: readonly string[] = ["--no-warnings", join(ROOT, "src/cli/main.ts")];
/** How a service is started, on any port. */
export const SERVE: readonly string[] = [...MAIN, "serve", "--port", "0", "--workers", "1"];
const START_MS = 120_000;

export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Everything on stderr so far. */
  readonly errors: readonly string[];
  /** Its exit code. */
  readonly exit: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
}

export interface ServeOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The command that is started, with the service's own behind it. Default: the service's own. */
  readonly wrap?: (command: readonly string[]) => readonly string[];
  readonly stdio?: StdioOptions;
}

/** Starts a service and waits for the line that says where it listens. Rejects with what it said where it ends before. */
export async function serve(args: readonly string[], options: ServeOptions = {}): Promise<Served> {
  const { cwd = ROOT, env = {}, wrap = (command) => command, stdio = "pipe" } = options;
  const [file = "", ...rest] = wrap([process.execPath, ...SERVE, ...args]);
  return awaitService(spawn(file, rest, { cwd, env: { ...process.env, ...env }, stdio }));
}

/** Waits for the line in which a service that was started says where it listens. */
export async function awaitService(child: ChildProcess): Promise<Served> {
  const exit = once(child, "exit").then(([code]) => code as number | null);
  const errors: string[] = [];
  if (child.stdout === null || child.stderr === null) throw new Error("its output goes elsewhere");
  createInterface({ input: child.stderr }).on("line", (line) => errors.push(noticeOf(line)));
  const lines = createInterface({ input: child.stdout });
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exit;
  };
  const ended = exit.then((code) => Promise.reject(new Error(`it ended with ${code}: ${errors.join("\n")}`)));
  ended.catch(() => undefined);
  const timer = setTimeout(() => void end(), START_MS);
  try {
    const [line] = (await Promise.race([once(lines, "line"), ended])) as [string];
    const url = /^glovebox listening on (http:\S+)$/.exec(line)?.[1] ?? "";
    const signal = (name: NodeJS.Signals) => void child.kill(name);
    const port = Number(new URL(url).port);
    return { url, port, pid: child.pid ?? 0, errors, exit, signal, [Symbol.asyncDispose]: end };
  } finally {
    clearTimeout(timer);
  }
}

/** The text of a service's own notice; any other line of its log as it is. */
export function noticeOf(line: string): string {
  if (!line.startsWith("{")) return line;
  const {
    level,
    time: _time,
    service,
    hostname: _hostname,
    msg,
    ...fields
  } = JSON.parse(line) as {
    readonly [field: string]: unknown;
  };
  if (service !== "glovebox" || Object.keys(fields).length > 0) return line;
  return `glovebox: ${level === 40 ? "warning: " : ""}${String(msg)}`;
}

/** A service's log, with the text of its own notices in place of their JSON. */
export function noticesOf(log: string): string {
  return log.replaceAll(/^\{.*$/gm, (line) => noticeOf(line));
}

/** Waits until a service has said something that matches. Rejects after a while. */
export async function said({ errors }: Pick<Served, "errors">, what: RegExp, from = 0): Promise<string> {
  const untilMs = performance.now() + START_MS;
  for (;;) {
    const line = errors.slice(from).find((one) => what.test(one));
    if (line !== undefined) return line;
    if (performance.now() > untilMs) throw new Error(`${what} was not said:\n${errors.join("\n")}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
