import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Inside, Jailed, Start } from "./jail.ts";
import { Output } from "./output.ts";
import { type Excess, isMade, Watch } from "./watch.ts";

/** How long what was killed may take to be gone. */
const GONE_MS = 5_000;
const STATUS_MAX = 16_384;

const MADE_EVERY_MS = 2;

/** What is read by what runs, and how much of what it writes is kept. */
export interface Streams {
  readonly stdin: string;
  /** Of stdout, and of stderr. */
  readonly outputBytes: number;
  /** What it may write to both before it is ended: beyond what is kept, it is read and thrown away. */
  readonly drainedBytes: number;
}

/** How something ended. */
export interface Ended {
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

/** Reads what is left of the folder that was kept, by a path of the host's. */
type Harvest<Value> = (folder: string) => Promise<Value>;

/** Why something was ended from outside. */
type Ending = "time" | "call" | "start" | NonNullable<Ended["excess"]>;

/** Runs something to its end, or to the end of its time or its call. Rejects where it was not even started. */
export async function runInside(start: Start, inside: Inside, streams: Streams, signal: AbortSignal): Promise<Ended> {
  await using run = await begin(start, inside, streams, signal);
  return await run.end(signal);
}

/** The same for what leaves something in the folder that is kept: what is ended from outside leaves nothing. */
export async function runForFolder<Value>(
  start: Start,
  inside: Inside & { readonly kept: string },
  streams: Streams,
  signal: AbortSignal,
  harvest: Harvest<Value>,
): Promise<Ended & { readonly left: Value | null }> {
  await using run = await begin(start, inside, streams, signal);
  const ended = await run.end(signal);
  return { ...ended, left: ended.exitCode === null ? null : await harvest(run.folder) };
}

async function begin(start: Start, inside: Inside, streams: Streams, signal: AbortSignal): Promise<Run> {
  signal.throwIfAborted();
  const jailed = await start(inside).catch((error: unknown) => {
    throw notStarted(error);
  });
  jailed.stdin.end(streams.stdin);
  return new Run(jailed, inside, streams);
}

class Run {
  readonly #jailed: Jailed;
  readonly #inside: Inside;
  readonly #drainedBytes: number;
  readonly #stdout: Output;
  readonly #stderr: Output;
  #status = "";
  #watch: Watch | null = null;
  #ended: Ending | null = null;
  #isOver = false;
  #folder: Promise<FileHandle | null> | null = null;
  #held: FileHandle | null = null;

  constructor(jailed: Jailed, inside: Inside, { outputBytes, drainedBytes }: Streams) {
    this.#jailed = jailed;
    this.#inside = inside;
    this.#drainedBytes = drainedBytes;
    this.#stdout = new Output(outputBytes);
    this.#stderr = new Output(outputBytes);
    for (const name of ["stdout", "stderr"] as const) {
      const output = name === "stdout" ? this.#stdout : this.#stderr;
      this.#jailed[name].on("data", (chunk: Uint8Array) => this.#take(output, chunk));
    }
    this.#jailed.status.on("data", (chunk: Buffer) => this.#hear(chunk.toString("utf8")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held?.close();
  }

  /** What leads to the folder that was kept, also when the sandbox is gone. */
  get folder(): string {
    if (this.#held === null) throw notStarted(undefined);
    return `/proc/self/fd/${this.#held.fd}`;
  }

  async end(signal: AbortSignal): Promise<Ended> {
    const timer = setTimeout(() => this.#kill("time"), this.#inside.wallMs);
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
      this.#isOver = true;
      this.#held = (await this.#folder) ?? null;
    }
    signal.throwIfAborted();
    return this.#result();
  }

  #result(): Ended {
    const exitCode = this.#told("exit-code");
    const ended = this.#ended;
    if (ended === "start" || (ended === null && exitCode === null)) throw notStarted(undefined);
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
    if (this.#stdout.seenBytes + this.#stderr.seenBytes > this.#drainedBytes) this.#kill("output");
  }

  #hear(text: string): void {
    this.#status = (this.#status + text).slice(0, STATUS_MAX);
    const pid = this.#told("child-pid");
    if (pid === null || this.#ended !== null || this.#watch !== null) return;
    const root = `/proc/${pid}/root`;
    this.#watch = new Watch(root, this.#inside.ceilings, (excess) => this.#kill(excess));
    const { kept } = this.#inside;
    if (kept !== null) this.#folder = this.#open(root, kept);
  }

  /** Holds the folder, which goes with the sandbox for all who do not, and lets the program begin. */
  async #open(root: string, kept: string): Promise<FileHandle | null> {
    // The sandbox is made while this looks.
    while (!(await isMade(root).catch(() => false))) {
      if (this.#isOver || this.#ended !== null) return null;
      await delay(MADE_EVERY_MS);
    }
    try {
      const handle = await open(join(root, kept), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      this.#jailed.gate?.end("x");
      return handle;
    } catch {
      this.#kill("start");
      return null;
    }
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
    const { process: outer, lifeline } = this.#jailed;
    // With the first process inside go all others, and the outer one only when they are gone.
    const pid = this.#told("child-pid");
    if (pid !== null && outer.exitCode === null && outer.signalCode === null) killInside(pid);
    lifeline.end();
    const { stdout, stderr, status } = this.#jailed;
    const timer = setTimeout(() => {
      outer.kill("SIGKILL");
      for (const pipe of [stdout, stderr, status, lifeline]) pipe.destroy();
    }, GONE_MS);
    outer.once("close", () => clearTimeout(timer));
  }
}

function killInside(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

/** What bubblewrap says of it may name folders of the host. */
function notStarted(cause: unknown): Error {
  return new Error("it could not be started", { cause });
}
