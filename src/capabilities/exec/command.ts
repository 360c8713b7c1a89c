import { EXEC_LIMITS } from "./limits.ts";
import type { Inside, Jailed } from "./jail.ts";
import { Output } from "./output.ts";
import { type Excess, Watch } from "./watch.ts";

/** How long what was killed may take to be gone. */
const GONE_MS = 5_000;
const STATUS_MAX = 16_384;

/** A command, with what it reads and how much of what it writes is kept. */
export interface Command extends Inside {
  readonly stdin: string;
  /** Of stdout, and of stderr. */
  readonly outputBytes: number;
}

/** How a command ended. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  /** 128 and the signal's number where it ended by one; `null` where it was ended from outside. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  /** stdout or stderr was longer than is kept. */
  readonly truncated: boolean;
  /** What it had too much of, so that it was ended. */
  readonly excess: Excess | "output" | null;
}

/** Why a command was ended from outside. */
type Ending = "time" | "call" | NonNullable<CommandResult["excess"]>;

/** Runs a command to its end, or to the end of its time or its call. Rejects where it was not even started. */
export async function runCommand(
  start: (inside: Inside) => Promise<Jailed>,
  { stdin, outputBytes, ...inside }: Command,
  signal: AbortSignal,
): Promise<CommandResult> {
  signal.throwIfAborted();
  const jailed = await start(inside).catch((error: unknown) => {
    throw notStarted(error);
  });
  jailed.stdin.end(stdin);
  return new Run(jailed, inside.wallMs, outputBytes).end(signal);
}

class Run {
  readonly #jailed: Jailed;
  readonly #wallMs: number;
  readonly #stdout: Output;
  readonly #stderr: Output;
  #status = "";
  #watch: Watch | null = null;
  #ended: Ending | null = null;

  constructor(jailed: Jailed, wallMs: number, outputBytes: number) {
    this.#jailed = jailed;
    this.#wallMs = wallMs;
    this.#stdout = new Output(outputBytes);
    this.#stderr = new Output(outputBytes);
    for (const name of ["stdout", "stderr"] as const) {
      const output = name === "stdout" ? this.#stdout : this.#stderr;
      this.#jailed[name].on("data", (chunk: Uint8Array) => this.#take(output, chunk));
    }
    this.#jailed.status.on("data", (chunk: Buffer) => this.#hear(chunk.toString("utf8")));
  }

  async end(signal: AbortSignal): Promise<CommandResult> {
    const timer = setTimeout(() => this.#kill("time"), this.#wallMs);
    const onAbort = () => this.#kill("call");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await this.#jailed.closed.catch((error: unknown) => {
        throw notStarted(error);
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#watch?.[Symbol.dispose]();
    }
    signal.throwIfAborted();
    return this.#result();
  }

  #result(): CommandResult {
    const exitCode = this.#told("exit-code");
    const ended = this.#ended;
    if (ended === null && exitCode === null) throw notStarted(undefined);
    return {
      stdout: this.#stdout.text(),
      stderr: this.#stderr.text(),
      exitCode: ended === null ? exitCode : null,
      timedOut: ended === "time",
      truncated: this.#stdout.isCut || this.#stderr.isCut,
      excess: ended === "time" || ended === "call" ? null : ended,
    };
  }

  #take(output: Output, chunk: Uint8Array): void {
    output.take(chunk);
    if (this.#stdout.seenBytes + this.#stderr.seenBytes > EXEC_LIMITS.drainedBytes) this.#kill("output");
  }

  #hear(text: string): void {
    this.#status = (this.#status + text).slice(0, STATUS_MAX);
    const pid = this.#told("child-pid");
    if (pid !== null && this.#ended === null) this.#watch ??= new Watch(pid, (excess) => this.#kill(excess));
  }

  /** What bubblewrap tells of it, in lines of JSON. */
  #told(name: "child-pid" | "exit-code"): number | null {
    const [, digits] = new RegExp(`"${name}": (\\d+)`).exec(this.#status) ?? [];
    return digits === undefined ? null : Number(digits);
  }

  /** Ends all that it has started. */
  #kill(why: Ending): void {
    if (this.#ended !== null) return;
    this.#ended = why;
    this.#watch?.[Symbol.dispose]();
    const { process: outer } = this.#jailed;
    // With the first process inside go all others, and the outer one only when they are gone.
    const pid = this.#told("child-pid");
    if (pid === null || outer.exitCode !== null || outer.signalCode !== null || !killInside(pid)) outer.kill("SIGKILL");
    const { stdout, stderr, status } = this.#jailed;
    const timer = setTimeout(() => {
      outer.kill("SIGKILL");
      for (const pipe of [stdout, stderr, status]) pipe.destroy();
    }, GONE_MS);
    outer.once("close", () => clearTimeout(timer));
  }
}

function killInside(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}

/** What bubblewrap says of it may name folders of the host. */
function notStarted(cause: unknown): Error {
  return new Error("the command could not be started", { cause });
}
