import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

const FLAGS = ["--no-warnings"];
const ENDING_MS = 10_000;

/** A program of `programs/` in a process of its own, which ends when its input does. */
export class Program implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #ended: Promise<unknown>;
  readonly #lines: AsyncIterator<string>;

  constructor(name: string, args: readonly (string | number)[] = []) {
    const file = fileURLToPath(new URL(`programs/${name}.ts`, import.meta.url));
    this.#child = spawn(process.execPath, [...FLAGS, file, ...args.map(String)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#ended = once(this.#child, "close");
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** The next line that it says. */
  async line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("the program has ended");
    return value;
  }

  /** Tells it to end. */
  stop(): void {
    this.#child.stdin.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    const killing = setTimeout(() => this.#child.kill("SIGKILL"), ENDING_MS);
    await this.#ended;
    clearTimeout(killing);
  }
}
