import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runProgram } from "../program.ts";

/* A call that waits needs no process: it goes on in another one, with the code with which it began. */

/** Runs a program that is killed once it has said a line. Gives that. */
export async function killed(program: string, args: readonly string[]): Promise<unknown> {
  const file = fileURLToPath(new URL(`../programs/${program}.ts`, import.meta.url));
  const child = spawn(process.execPath, ["--no-node-snapshot", "--no-warnings", file, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
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

  /* Each row of the table of what a lost process leaves: the process is really killed there. */
  describe.concurrent("a call whose process is killed", () => {
    const end = async (where: string, decision = "") => {
      const name = where.replace(" ", "-") + decision;
      const [at, effects] = [placeOf(name), join(folder(), `${name}.txt`)];
      const { id } = (await killed("lost", ["begin", at, effects, where])) as { readonly id: string };
      const { stdout } = await runProgram("lost", ["finish", at, effects, id, decision]);
      return JSON.parse(stdout) as {
        readonly output: unknown;
        readonly states: readonly string[];
        readonly done: string[];
      };
    };

    test("while it reads goes on by itself, with no effect twice", async () => {
      const { output, states, done } = await end("read");
      expect(output).toEqual([false, "added 1", "read", "added 2"]);
      expect(states).not.toContain("in_doubt");
      expect(done).toEqual(["1", "2"]);
    });

    test("after it wrote to kv goes on by itself, and has written once", async () => {
      const { output, states } = await end("kv");
      expect(output).toEqual([false, 1, 2]);
      expect(states).not.toContain("in_doubt");
    });

    test("before an effect of its own happened is in doubt, and does it once when a person says so", async () => {
      const { output, states, done } = await end("before 1", "did_not_happen");
      expect(output).toEqual([false, "added 1", "read", "added 2"]);
      expect(states).toContain("in_doubt");
      expect(done).toEqual(["1", "2"]);
    });

    test("after an effect of its own happened is in doubt, and goes on with the answer that a person gives", async () => {
      const { output, states, done } = await end("after 1", "happened");
      expect(output).toEqual([false, "told", "read", "added 2"]);
      expect(states).toContain("in_doubt");
      expect(done).toEqual(["1", "2"]);
    });

    test("in a call of another tool is in doubt about that, and goes on with the output that a person gives", async () => {
      const { output, states, done } = await end("after 2", "happened");
      expect(output).toEqual([false, "added 1", "read", "told"]);
      expect(states).toContain("in_doubt");
      expect(done).toEqual(["1", "2"]);
    });

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
  });
}
