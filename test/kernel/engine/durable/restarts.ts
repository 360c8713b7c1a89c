import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { noJail } from "../../broker/capabilities/exec/opened.ts";
import { runProgram } from "../program.ts";
import { Desk } from "./desk.ts";
import { LOST_ROWS, type LostRow, STOPPED_ROWS } from "./lost-rows.ts";

/* A call that waits needs no process: it goes on in another one, with the code with which it began. */

const FLAGS = ["--no-warnings"];
const fileOf = (program: string): string => fileURLToPath(new URL(`../programs/${program}.ts`, import.meta.url));

/** Runs a program that is killed once it has said a line. Gives that. */
export async function killed(program: string, args: readonly string[]): Promise<unknown> {
  const child = spawn(process.execPath, [...FLAGS, fileOf(program), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  // Without a line, it has ended by itself.
  const [line] = (await Promise.race([once(createInterface(child.stdout), "line"), ended])) as [string];
  child.kill("SIGKILL");
  await ended;
  return JSON.parse(line);
}

/** Starts a call in a process that is killed once the call waits. */
async function pauseAndDie(path: string, tool: string): Promise<{ readonly details: { readonly id: string } }> {
  return (await killed("waits", ["pause", path, tool])) as { readonly details: { readonly id: string } };
}

/** `folder`: for files of programs. `placeOf`: where calls are kept, by the name of a test. */
export function describeRestarts(folder: () => string, placeOf: (name: string) => string): void {
  test("a call that one process has begun is approved in a second and ends in a third, with its own code", async () => {
    const path = placeOf("order");
    const begun = await pauseAndDie(path, "order");
    expect(begun).toMatchObject({ code: "paused", effects: [{ before: 7 }] });
    const { id } = begun.details;
    const approved = await runProgram("waits", ["approve", path, id]);
    expect(JSON.parse(approved.stdout)).toMatchObject({ state: "ready", waits: [{ arguments: { item: 7 } }] });
    const { drawn } = (JSON.parse(approved.stdout) as { waits: readonly [{ arguments: { drawn: number } }] }).waits[0]
      .arguments;
    const finished = await runProgram("waits", ["finish", path, id]);
    expect(JSON.parse(finished.stdout)).toMatchObject({
      result: { success: true, output: { version: "old", item: 7, drawn, data: "yes" } },
      effects: [{ after: 7 }],
    });
  });

  test("a call that waits for its start begins in another process", async () => {
    const path = placeOf("refund");
    const { details } = await pauseAndDie(path, "refund");
    await runProgram("waits", ["approve", path, details.id]);
    const { stdout } = await runProgram("waits", ["finish", path, details.id]);
    expect(JSON.parse(stdout)).toMatchObject({ result: { output: { version: "old" } }, effects: [{ refunded: 7 }] });
  });

  describe.concurrent("a call whose process is killed", () => {
    test("while it is undone is undone to its end, with each effect once", async () => {
      const [at, effects] = [placeOf("undone"), join(folder(), "undone.txt")];
      const { id } = (await killed("undoes", ["begin", at, effects, "all"])) as { readonly id: string };
      const { stdout } = await runProgram("undoes", ["finish", at, effects, id]);
      expect(JSON.parse(stdout)).toEqual({
        outcomes: ["3 undone", "2 undone", "1 undone"],
        done: [1, 2, 3, -3, -2, -1],
      });
    });

    test("while what a call below it did is undone is undone to its end, with each effect once", async () => {
      const [at, effects] = [placeOf("undone-below"), join(folder(), "undone-below.txt")];
      const { id } = (await killed("undoes", ["begin", at, effects, "nested"])) as { readonly id: string };
      const { stdout } = await runProgram("undoes", ["finish", at, effects, id]);
      expect(JSON.parse(stdout)).toEqual({
        outcomes: ["3 undone", "1 undone", "1 undone"],
        done: [1, 2, 3, -3, -2, -1],
      });
    });

    let losing: Promise<Lost> | undefined;
    const lost = (): Promise<Lost> => (losing ??= lose(folder(), placeOf("lost")));

    test.for(LOST_ROWS)("$title", async ({ name, inJail, doubt, output, isPlain, seen }, { skip }) => {
      skip(inJail === true && noJail !== undefined, noJail);
      const { ends, outside } = await lost();
      const end = isPlain === true ? undefined : { name, output, error: null, ...(doubt && { doubt: doubt.asked }) };
      expect(ends.find((one) => one.name === name)).toEqual(end);
      expect(outside(name)).toEqual(seen);
    });

    test.for(STOPPED_ROWS)("hears of its end and $title", async ({ name, output, seen, doubt }) => {
      const { ends, outside, heard } = await lost();
      expect(heard.get(name)).toEqual({ ended: name, output, error: null });
      const end = { name, output, error: null, ...(doubt && { doubt: doubt.asked }) };
      expect(ends.find((one) => one.name === name)).toEqual(end);
      expect(outside(name)).toEqual(seen);
    });
  });
}

/** What was left of the calls of killed processes. */
interface Lost {
  readonly ends: readonly { readonly name: string; readonly output: unknown }[];
  /** All that a call has done outside. */
  readonly outside: (name: string) => readonly string[];
  /** What the process that was only stopped has heard of its calls. */
  readonly heard: ReadonlyMap<string, unknown>;
}

/** A process with calls of some rows, which are all where it is to be killed. */
class Losing implements AsyncDisposable {
  readonly child: ChildProcessByStdio<null, Readable, null>;
  readonly there: Promise<void>;
  readonly #left: Set<string>;
  readonly #there = Promise.withResolvers<void>();
  readonly #count: number;
  readonly #heard = new Map<string, unknown>();
  readonly #ended = Promise.withResolvers<ReadonlyMap<string, unknown>>();

  constructor(rows: readonly LostRow[], args: readonly string[]) {
    this.#left = new Set(rows.map(({ name }) => name));
    this.#count = rows.length;
    this.there = this.#there.promise;
    const names = [...this.#left];
    this.child = spawn(process.execPath, [...FLAGS, fileOf("lost"), "begin", ...args, ...names], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.there.catch(() => undefined);
    this.child.once("exit", () => this.#there.reject(new Error(`it has ended without ${[...this.#left].join(", ")}`)));
    createInterface(this.child.stdout).on("line", (line) => {
      const said = JSON.parse(line) as { readonly at: string } | { readonly ended: string };
      if ("at" in said) this.isAt(said.at);
      else if (this.#left.has(said.ended)) this.#there.reject(new Error(`a call has not stayed: ${line}`));
      else if (this.#heard.set(said.ended, said).size === this.#count) this.#ended.resolve(this.#heard);
    });
  }

  isAt(name: string): void {
    this.#left.delete(name);
    if (this.#left.size === 0) this.#there.resolve();
  }

  /** What became of all of its calls. */
  get ended(): Promise<ReadonlyMap<string, unknown>> {
    return this.#ended.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await ended;
  }
}

/** Kills a process in whose calls each row is under way, stops another one, and has a third go on with all of them. */
async function lose(folder: string, place: string): Promise<Lost> {
  const files = await mkdtemp(join(folder, "lost-"));
  await using desk = await Desk.open();
  const args = [place, files, desk.url];
  const rows = LOST_ROWS.filter(({ inJail }) => inJail !== true || noJail === undefined);
  for (const { name, point } of [...rows, ...STOPPED_ROWS]) if (point === "reading") desk.holds.add(name);
  await using dying = new Losing(rows, args);
  await using stopping = new Losing(STOPPED_ROWS, args);
  desk.onHeld = (name) => {
    for (const one of [dying, stopping]) one.isAt(name);
  };
  await Promise.all([dying.there, stopping.there]);
  stopping.child.kill("SIGSTOP");
  await dying[Symbol.asyncDispose]();
  desk.holds.clear();
  const { stdout, stderr, code } = await runProgram("lost", ["finish", ...args]);
  if (code !== 0) throw new Error(stderr);
  desk.release();
  stopping.child.kill("SIGCONT");
  const heard = await stopping.ended;
  const lines = new Map<string, readonly string[]>();
  for (const name of await readdir(files))
    lines.set(name, (await readFile(join(files, name), "latin1")).split("\n").slice(0, -1));
  return {
    heard,
    ends: JSON.parse(stdout) as Lost["ends"],
    outside: (name) => [...desk.seen(name), ...(lines.get(name) ?? [])],
  };
}
