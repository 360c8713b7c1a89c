import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Inside, Jailed, Start } from "./jail.ts";
import { Output } from "./output.ts";
import { type Excess, isMade, Watch } from "./watch.ts";

/** Maximum time for killed processes to end. */
const GONE_MS = 5_000;
const STATUS_MAX = 16_384;

const MADE_EVERY_MS = 2;

/** Input of the program, and limits on its output. */
export interface Streams {
  readonly stdin: string;
  /** Maximum of stdout kept, and of stderr. */
  readonly outputBytes: number;
  /**
   * Maximum of both that the program may write before it is killed. Output beyond `outputBytes` is read and discarded.
   */
  readonly drainedBytes: number;
}

/** Outcome of a program. */
export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  /** 128 plus the signal's number where a signal ended it; `null` where it was killed from outside. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  /** Whether stdout or stderr was longer than `outputBytes`. */
  readonly truncated: boolean;
  /** The limit it exceeded, for which it was killed. */
  readonly excess: Excess | "output" | null;
}

/** Reads the kept folder by its path on the host. */
type Harvest<Value> = (folder: string) => Promise<Value>;

/** Reason for killing a program from outside. */
type Ending = "time" | "call" | "start" | NonNullable<Ended["excess"]>;

/** Runs a program until it ends, its time is over, or its call ends. Rejects where it could not be started. */
export async function runInside(start: Start, inside: Inside, streams: Streams, signal: AbortSignal): Promise<Ended> {
  await using run = await begin(start, inside, streams, signal);
  return await run.end(signal);
}

/** Like `runInside`, and then reads the kept folder. `left` is `null` for a program killed from outside. */
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
    this.#jailed.status.on("data", (chunk: Buffer) => this.#readStatus(chunk.toString("utf8")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#held?.close();
  }

  /** Path of the kept folder, valid also after the sandbox has ended. */
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
      const { isMemory } = await this.#jailed.closed.catch((error: unknown) => {
        throw notStarted(error);
      });
      // The kernel was faster than the watch.
      if (isMemory) this.#ended ??= "memory";
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
    const exitCode = this.#statusOf("exit-code");
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

  #readStatus(text: string): void {
    this.#status = (this.#status + text).slice(0, STATUS_MAX);
    const pid = this.#statusOf("child-pid");
    if (pid === null || this.#ended !== null || this.#watch !== null) return;
    const root = `/proc/${pid}/root`;
    this.#watch = new Watch(root, this.#inside.ceilings, (excess) => this.#kill(excess));
    const { kept } = this.#inside;
    if (kept !== null) this.#folder = this.#open(root, kept);
  }

  /** Opens the kept folder, which otherwise disappears with the sandbox, and then lets the program begin. */
  async #open(root: string, kept: string): Promise<FileHandle | null> {
    // The sandbox may still be in the making.
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

  /** Reads a number from bubblewrap's status, which is lines of JSON. */
  #statusOf(name: "child-pid" | "exit-code"): number | null {
    const [, digits] = new RegExp(`"${name}": (\\d+)`).exec(this.#status) ?? [];
    return digits === undefined ? null : Number(digits);
  }

  /** Kills everything inside. */
  #kill(why: Ending): void {
    if (this.#ended !== null) return;
    this.#ended = why;
    this.#watch?.[Symbol.dispose]();
    const { process: outer, lifeline } = this.#jailed;
    // Killing the first process inside kills all others; the outer process ends after them.
    const pid = this.#statusOf("child-pid");
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
    // It has already ended.
  }
}

/** Hides bubblewrap's message, which may name folders of the host. */
function notStarted(cause: unknown): Error {
  return new Error("it could not be started", { cause });
}
