import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const sourceOf = (name: string): string => new URL(`../../../../src/kernel/tool/build/${name}`, import.meta.url).href;

/** Whether the sandbox works is known once for a process, so the builds have one of their own: two, a minute apart. */
const PROGRAM = `
import { Builds } from ${JSON.stringify(sourceOf("builds.ts"))};
import { buildSandbox } from ${JSON.stringify(sourceOf("sandbox.ts"))};
const now = performance.now.bind(performance);
let aheadMs = 0;
performance.now = () => now() + aheadMs;
const builds = new Builds();
const texts = ["enum Size { Large = 3 } export default (): number => Size.Large"];
const job = { head: { kind: "bundle", input: { kind: "text", name: "add" } }, texts };
const told = [];
for (aheadMs of [0, 61_000]) {
  const { kind } = await builds.run(job, { registrant: "key:a", deadlineMs: 30_000 });
  told.push([kind, buildSandbox()]);
}
builds.stop();
console.log(JSON.stringify(told));`;

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "glovebox-builds-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

/** What both builds became, and the state of the sandbox after each, where a program named `bwrap` is first on the path. */
async function buildWith(script: string, shell = "/bin/sh"): Promise<readonly unknown[]> {
  const program = path.join(folder, "bwrap");
  writeFileSync(program, `#!${shell}\n${script}\n`);
  chmodSync(program, 0o755);
  const args = ["--no-warnings", "--input-type=module", "--eval", PROGRAM];
  const env = { ...process.env, PATH: `${folder}:${process.env["PATH"] ?? ""}` };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 120_000 });
  return JSON.parse(stdout) as readonly unknown[];
}

const onLinux = process.platform === "linux" && ["x64", "arm64"].includes(process.arch);

describe.runIf(onLinux)("where bubblewrap does not work", () => {
  test("texts are built without it, the reason is known, and it is tried again after a while", async () => {
    const told = await buildWith("echo 'bwrap: No permissions to create a new namespace' >&2\nexit 1");
    expect(told).toEqual([
      ["done", { kind: "off", reason: "bwrap: No permissions to create a new namespace" }],
      ["done", expect.objectContaining({ kind: "off" })],
    ]);
  });

  test("nor can be started, texts are built without it", async () => {
    const told = await buildWith("", "/no/such/interpreter");
    expect(told[0]).toEqual(["done", expect.objectContaining({ kind: "off" })]);
  });
});
