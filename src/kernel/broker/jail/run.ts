import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TIMER_MAX_MS } from "../../base/deadline.ts";
import type { Inside, Jailed, Start } from "./jail.ts";
import { Output } from "./output.ts";
import { type Killing, Supervision } from "./supervision.ts";
import { isMade } from "./watch.ts";

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
  /** 128 plus the signal's number if a signal ended it; `null` if it was killed from outside. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  /** Whether stdout or stderr was longer than `outputBytes`. */
  readonly truncated: boolean;
  /** The limit it exceeded, for which it was killed. */
  readonly excess: Exclude<Killing, "time" | "call" | "start"> | null;
}

/** Reads the kept folder by its path on the host. */
type Harvest<Value> = (folder: string) => Promise<Value>;

/** Runs a program until it ends, its time is over, or its call ends. Rejects if it could not be started. */
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
  readonly #supervision: Supervision;
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
    const { kept } = inside;
    this.#supervision = new Supervision(jailed, inside.ceilings, (root) => {
      if (kept !== null) this.#folder = this.#open(root, kept);
    });
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
    const timer = setTimeout(() => this.#supervision.kill("time"), Math.min(TIMER_MAX_MS, this.#inside.wallMs));
    const onAbort = () => this.#supervision.kill("call");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await this.#supervision.closed.catch((error: unknown) => {
        throw notStarted(error);
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#isOver = true;
      this.#held = (await this.#folder) ?? null;
    }
    signal.throwIfAborted();
    return this.#result();
  }

  #result(): Ended {
    const { exitCode, killing: ended } = this.#supervision;
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
    if (this.#stdout.seenBytes + this.#stderr.seenBytes > this.#drainedBytes) this.#supervision.kill("output");
  }

  /** Opens the kept folder, which otherwise disappears with the sandbox, and then lets the program begin. */
  async #open(root: string, kept: string): Promise<FileHandle | null> {
    // The sandbox may still be in the making.
    while (!(await isMade(root).catch(() => false))) {
      if (this.#isOver || this.#supervision.killing !== null) return null;
      await delay(MADE_EVERY_MS);
    }
    try {
      const handle = await open(join(root, kept), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      this.#jailed.gate?.end("x");
      return handle;
    } catch {
      this.#supervision.kill("start");
      return null;
    }
  }
}

/** Hides bubblewrap's message, which may name folders of the host. */
function notStarted(cause: unknown): Error {
  return new Error("it could not be started", { cause });
}
