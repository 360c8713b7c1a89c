import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import type { ChildInit, FromChild } from "../../protocol/control.ts";
import { type Channel, Lane, type LaneListener } from "../lane.ts";
import type { Death } from "./blame.ts";
import { Mirror } from "./mirror.ts";
import { executorFlags } from "./permissions.ts";

export interface ChildOptions {
  readonly workers: number;
  readonly prelude: string;
  readonly entropyKey: string;
  readonly warmIsolates: number;
  readonly rssMaxMb: number;
}

const FIRST_PIPE_FD = 5;
const STDERR_MAX = 8_192;
const START_MS = 20_000;
/** Beats come four times a second; so many missed ones in a row mean that the process does not answer. */
const BEATS_MISSED_MAX = 20;
const BEAT_CHECK_MS = 250;

/**
 * One executor process as its supervisor sees it. It is started with nothing of this process's environment, and
 * ended by SIGKILL.
 */
export class ChildHandle {
  readonly lanes: readonly Lane[];
  /** Resolves when calls can be sent; rejects when the process ended before that. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended, with all that is known about why. */
  readonly death: Promise<Death>;
  readonly pid: number;
  rssBytes = 0;
  readonly #process: ChildProcess;
  readonly #workers: number;
  readonly #mirror: Mirror | null;
  readonly #beatTimer: NodeJS.Timeout;
  #beatsMissed = 0;
  #stderr = "";
  #report: Death["report"] = null;
  #killedFor: Death["killedFor"] = null;

  constructor(options: ChildOptions, listener: LaneListener) {
    const { workers } = options;
    this.#workers = workers;
    this.#mirror = Mirror.create();
    const pipes = Array.from({ length: workers }, () => "pipe" as const);
    this.#process = spawn(process.execPath, [...executorFlags(), childEntry()], {
      stdio: ["ignore", "ignore", "pipe", "ipc", this.#mirror?.fd ?? "ignore", ...pipes],
      env: { TZ: "UTC", LANG: "en_US.UTF-8" },
    });
    this.pid = this.#process.pid ?? 0;
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_MAX);
    });
    this.lanes = this.#openLanes(listener);
    this.death = this.#awaitDeath();
    this.ready = this.#awaitReady();
    // A start that fails is reported by `death` as well; nobody has to wait for both.
    this.ready.catch(() => undefined);
    this.#beatTimer = setInterval(() => this.#checkBeat(), BEAT_CHECK_MS).unref();
    const init: ChildInit = {
      kind: "init",
      ...options,
      firstPipeFd: FIRST_PIPE_FD,
      mirrorFd: this.#mirror === null ? null : FIRST_PIPE_FD - 1,
    };
    if (this.#process.connected) this.#process.send(init, () => undefined);
  }

  kill(reason: Death["killedFor"]): void {
    this.#killedFor ??= reason;
    this.#process.kill("SIGKILL");
  }

  /** None where the system could not start the process: it then has no pipes, and its death follows at once. */
  #openLanes(listener: LaneListener): Lane[] {
    const pipes = this.#process.pid === undefined ? [] : this.#process.stdio.slice(FIRST_PIPE_FD);
    return pipes.map((pipe, worker) => new Lane(worker, pipeChannel(pipe as Duplex), listener));
  }

  #awaitReady(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.kill("heartbeat");
        reject(new Error("the executor process did not become ready in time"));
      }, START_MS);
      this.#process.on("message", (message: FromChild) => {
        if (message.kind === "ready") {
          clearTimeout(timer);
          resolve();
        } else this.#onMessage(message);
      });
      void this.death.then((death) => {
        clearTimeout(timer);
        reject(new Error(`the executor process ended at its start: ${lastLine(death)}`));
      });
    });
  }

  #onMessage(message: Exclude<FromChild, { kind: "ready" }>): void {
    switch (message.kind) {
      case "beat":
        this.#beatsMissed = 0;
        this.rssBytes = message.rssBytes;
        return;
      case "overrun":
      case "memory":
      case "worker-lost":
        this.#report ??= message;
        this.kill(null);
    }
  }

  #awaitDeath(): Promise<Death> {
    return new Promise((resolve) => {
      let exitCode: number | null = null;
      let signal: NodeJS.Signals | null = null;
      const settle = () => {
        clearInterval(this.#beatTimer);
        const turns = this.#mirror?.read(this.#workers) ?? null;
        this.#mirror?.[Symbol.dispose]();
        for (const lane of this.lanes) lane.close();
        this.#process.removeAllListeners("message");
        resolve({ report: this.#report, killedFor: this.#killedFor, signal, exitCode, turns, stderr: this.#stderr });
      };
      this.#process.once("error", (error) => {
        this.#stderr ||= error.message;
        // Where the process could not even be started, no `exit` will come.
        if (this.#process.pid === undefined) settle();
      });
      this.#process.once("exit", (code, by) => {
        exitCode = code;
        signal = by;
        settle();
      });
    });
  }

  /** Counts beats rather than time, so that a busy event loop of our own is not taken for a silent child. */
  #checkBeat(): void {
    this.#beatsMissed++;
    if (this.#beatsMissed > BEATS_MISSED_MAX) this.kill("heartbeat");
  }
}

function childEntry(): string {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  return fileURLToPath(new URL(`./child.${extension}`, import.meta.url));
}

function pipeChannel(pipe: Duplex): Channel {
  pipe.setEncoding("utf8");
  // A broken pipe is followed by the process's exit, where it is dealt with.
  pipe.on("error", () => undefined);
  return {
    isPiecemeal: false,
    write: (text) => void pipe.write(text),
    onText: (handler) => void pipe.on("data", handler),
    close: () => void pipe.destroy(),
  };
}

/** What the operator may see: no paths and no stack of the host. */
function lastLine(death: Death): string {
  const line = death.stderr.split("\n").find((text) => /error/i.test(text)) ?? "";
  return line.replaceAll(/(?:file:\/\/)?\/[^\s'"]*\//g, "").slice(0, 300) || `exit code ${death.exitCode}`;
}
