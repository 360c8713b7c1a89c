import { ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { writeFilter } from "../../base/os/bubblewrap.ts";
import { type ControlGroup, openGroup } from "../../base/os/cgroup.ts";
import { Descriptors } from "../../base/os/descriptors.ts";
import { killGroup } from "../../base/os/process-group.ts";
import { SHELL } from "../../base/os/rlimits.ts";
import { encodeFrame, type Frame, FrameReader } from "./frame.ts";
import { type Answer, answerOf, isReady, type Job, PROVES } from "./job.ts";
import {
  ADDRESS_MB,
  ANSWER_LIMITS,
  esbuildLimit,
  HEAP_MB,
  limitedTo,
  PROJECT_ADDRESS_MB,
  writablePrefix,
} from "./limits.ts";
import {
  buildSandbox,
  type BuildSandboxState,
  giveUpSandbox,
  proveSandbox,
  sandboxed,
  shownModules,
} from "./sandbox.ts";

/** The end of a job. */
export type Outcome =
  | { readonly kind: "done"; readonly value: unknown; readonly texts: readonly string[] }
  | Extract<Answer, { readonly kind: "refused" }>
  /** esbuild ended itself; `needed` is the resource that it lacked, and `largest` the largest part, if known. */
  | {
      readonly kind: "crashed";
      readonly needed: "memory" | "stack";
      readonly largest: string;
      /** Its limit. */
      readonly addressMb: number;
    }
  | { readonly kind: "late" }
  /** The answer was none, or too long. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** The process ended without an answer. */
  | { readonly kind: "lost"; readonly reason: string };

const STDERR_MAX = 8_192;
/** The kernel's limits, above that on esbuild's addresses. */
const GROUP = { memoryBytes: 2_560 * 1024 * 1024, tasks: 256, cpuWeight: 50 } as const;
/** A stack that is too deep for Go, or that could not be made longer. */
const STACK = /stack exceeds|runtime\.newstack/;
/** It reads files and starts esbuild; it writes into temporary folders of packages only, and has no network. */
const FLAGS = [
  "--permission",
  "--allow-fs-read=*",
  "--allow-child-process",
  "--no-warnings",
  `--max-old-space-size=${HEAP_MB}`,
];
/** Descriptor from which bubblewrap reads its filter. */
const FILTER_FD = 3;
/** Exit codes from here on name a signal. */
const SIGNALLED = 128;
const ENVIRONMENT = { TZ: "UTC", LANG: "en_US.UTF-8" };

/**
 * `texts`: reads no files of the host, in a sandbox of the operating system if one works. `project`: reads files, and
 * may use more memory.
 */
export type BuildView = "texts" | "files" | "project";

/**
 * One build process, from the engine's side. It inherits nothing of this process's environment, and ends by SIGKILL.
 */
export class BuildProcess {
  readonly view: BuildView;
  /** Whether it is in the sandbox. */
  readonly isInside: boolean;
  /** Number of modules from outside that its sandbox shows. */
  readonly modules = shownModules();
  /** Number of jobs that were given to it. */
  jobs = 0;
  /** See `writablePrefix`. */
  readonly writable = writablePrefix();
  readonly #process: ChildProcess;
  readonly #reader = new FrameReader(ANSWER_LIMITS);
  readonly #closed: Promise<void>;
  #hasEnded = false;
  #hasBegun = false;
  #startError: string | null = null;
  /** The beginning of the error output: esbuild writes its reason first, and then thousands of lines. */
  #stderr = "";
  #settle: (outcome: Outcome) => void = () => undefined;
  /** Sends the job that waits for the process to begin. */
  #send: () => void = () => undefined;

  constructor(view: BuildView) {
    this.view = view;
    const group = openGroup("build", GROUP);
    const sandbox = view === "texts" ? buildSandbox() : null;
    this.isInside = sandbox?.kind === "bubblewrap";
    const child = start(`--allow-fs-write=${this.writable}*`, this.#addressMb, sandbox, group);
    this.#process = child;
    this.#closed = new Promise((resolve) => child.once("close", () => resolve()));
    child.once("error", (error) => {
      this.#startError = error.message;
      group?.end();
      // bubblewrap itself could not be started.
      if (this.isInside && child.pid === undefined) giveUpSandbox(error.message);
      this.#onEnd(error.message);
    });
    child.once("exit", (code, signal) => {
      // esbuild, if it is still at work.
      killGroup(child);
      if (group?.end() === true) this.#settle(outOfMemory("", this.#addressMb));
      const reason = signal ?? `exit code ${code}`;
      const isRefused = !this.#hasBegun && code !== null && code < SIGNALLED;
      if (!isRefused || !this.isInside) return this.#onEnd(reason);
      // bubblewrap's output may arrive after its end.
      void this.#closed.then(() => {
        giveUpSandbox(this.#stderr.trim() || reason);
        this.#onEnd(reason);
      });
    });
    // `undefined` if the system could not start the process, contrary to Node's types.
    const stdio: Partial<Pick<ChildProcess, "stdin" | "stdout" | "stderr">> = child;
    stdio.stdin?.on("error", () => undefined);
    stdio.stdout?.on("data", (chunk: Buffer) => this.#onData(chunk));
    stdio.stderr?.on("data", (chunk: Buffer) => {
      if (this.#stderr.length < STDERR_MAX) this.#stderr += chunk.toString("latin1", 0, STDERR_MAX);
    });
    // The engine's process may end while this one is idle: during a job, its deadline keeps the engine's process alive.
    for (const one of [child, stdio.stdin, stdio.stdout, stdio.stderr]) call(one, "unref");
  }

  get #addressMb(): number {
    return this.view === "project" ? PROJECT_ADDRESS_MB : ADDRESS_MB;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  async run(job: Job, deadlineMs: number): Promise<Outcome> {
    this.jobs++;
    const outcome = await new Promise<Outcome>((resolve) => {
      const timer = setTimeout(() => this.#settle({ kind: "late" }), deadlineMs);
      this.#settle = (settled) => {
        clearTimeout(timer);
        resolve(settled);
      };
      if (this.#hasEnded) return this.#settle({ kind: "lost", reason: this.#startError ?? "it has ended" });
      this.#send = () => {
        // A long text takes many turns through a pipe.
        if (this.#process.stdin !== null) Readable.from(encodeFrame(job)).pipe(this.#process.stdin, { end: false });
      };
      if (this.#hasBegun) this.#send();
    });
    if (outcome.kind !== "crashed") return outcome;
    // esbuild has written its reason before it ended. Only this may keep this process running until then.
    for (const one of [this.#process, ...this.#process.stdio]) call(one, "ref");
    this.kill();
    await this.#closed;
    return STACK.test(this.#stderr) ? { ...outcome, needed: "stack" } : outcome;
  }

  kill(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    killGroup(this.#process);
    // A sandbox that is still starting ends with this pipe.
    this.#process.stdin?.destroy();
  }

  #onData(chunk: Buffer): void {
    try {
      const frame = this.#reader.push(chunk);
      if (frame === undefined) return;
      if (this.#hasBegun) return this.#settle(outcomeOf(frame, this.#addressMb));
      if (!isReady(frame.head)) throw new RangeError("an answer before it had begun");
      this.#hasBegun = true;
      if (this.isInside) proveSandbox();
      this.#send();
    } catch (error) {
      this.#settle({ kind: "unreadable", reason: error instanceof RangeError ? error.message : "no JSON" });
    }
  }

  #onEnd(reason: string): void {
    this.#hasEnded = true;
    this.#settle({ kind: "lost", reason });
  }
}

function outOfMemory(largest: string, addressMb: number): Outcome {
  return { kind: "crashed", needed: "memory", largest, addressMb };
}

function outcomeOf({ head, texts }: Frame, addressMb: number): Outcome {
  const answer = answerOf(head);
  if (answer === undefined) return { kind: "unreadable", reason: "an answer of another form" };
  if (answer.kind === "crashed") return outOfMemory(answer.largest, addressMb);
  return answer.kind === "done" ? { ...answer, texts } : answer;
}

/** Starts the process as the first of its own group. A failure becomes its `error`. */
function start(
  writes: string,
  addressMb: number,
  sandbox: BuildSandboxState | null,
  group: ControlGroup | null,
): ChildProcess {
  try {
    const limit = esbuildLimit();
    const isInside = sandbox?.kind === "bubblewrap";
    using descriptors = new Descriptors(["pipe", "pipe", "pipe", ...(isInside ? (["pipe"] as const) : [])]);
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const node = [process.execPath, ...FLAGS, writes, fileURLToPath(new URL(`./child.${extension}`, import.meta.url))];
    const command = isInside ? sandboxed(sandbox.command, node, FILTER_FD) : node;
    const inGroup = group === null || !existsSync(SHELL) ? [] : [SHELL, "-c", `${group.joinCommand}\nexec "$@"`, SHELL];
    const [file = "", ...args] = [...inGroup, ...command];
    const child = spawn(file, args, {
      stdio: descriptors.stdio,
      env: {
        ...ENVIRONMENT,
        ...(limit.kind === "limited" ? limitedTo(limit.env, addressMb) : {}),
        ...(isInside ? { [PROVES]: "1" } : {}),
      },
      cwd: path.parse(process.cwd()).root,
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    // Missing if the system could not start the process, contrary to Node's types.
    const { stdio }: Partial<Pick<ChildProcess, "stdio">> = child;
    if (isInside) writeFilter(stdio?.[FILTER_FD], sandbox.filter);
    return child;
  } catch (error) {
    const failed = new ChildProcess();
    process.nextTick(() => failed.emit("error", error));
    return failed;
  }
}

/** Whether the event loop waits for it. Streams of processes have these methods, contrary to Node's types. */
function call(one: unknown, method: "ref" | "unref"): void {
  if (typeof one !== "object" || one === null) return;
  const found: unknown = Reflect.get(one, method);
  if (typeof found === "function") Reflect.apply(found, one, []);
}
