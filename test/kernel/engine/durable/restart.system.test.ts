import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "../program.ts";

/* A call that waits needs no process: it goes on in another one, with the code with which it began. */

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-waits-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Starts a call in a process that is killed once the call waits. Gives what it has said. */
async function pauseAndDie(path: string, tool: string): Promise<{ readonly details: { readonly id: string } }> {
  const file = fileURLToPath(new URL("../programs/waits.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-node-snapshot", "--no-warnings", file, "pause", path, tool], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  // Without a line, it has ended by itself.
  const [line] = (await Promise.race([once(createInterface(child.stdout), "line"), ended])) as [string];
  child.kill("SIGKILL");
  await ended;
  return JSON.parse(line) as { readonly details: { readonly id: string } };
}

test("a call that one process has begun is approved in a second and ends in a third, with its own code", async () => {
  const path = join(folder, "order.sqlite");
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
  const path = join(folder, "refund.sqlite");
  const { details } = await pauseAndDie(path, "refund");
  await runProgram("waits", ["approve", path, details.id]);
  const { stdout } = await runProgram("waits", ["finish", path, details.id]);
  expect(JSON.parse(stdout)).toMatchObject({ result: { output: { version: "old" } }, effects: [{ refunded: 7 }] });
});
