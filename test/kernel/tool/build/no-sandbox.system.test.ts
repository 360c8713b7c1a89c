import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Builds } from "../../../../src/kernel/tool/build/builds.ts";
import type { Job } from "../../../../src/kernel/tool/build/job.ts";
import { buildSandbox } from "../../../../src/kernel/tool/build/sandbox.ts";

const SIMPLE: Job = {
  head: { kind: "bundle", input: { kind: "text", name: "add" } },
  texts: ["enum Size { Large = 3 } export default (): number => Size.Large"],
};
const STRANGER = { registrant: "key:a", deadlineMs: 30_000 };

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "glovebox-builds-"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

function startBuilds(): Builds {
  const builds = new Builds();
  onTestFinished(() => builds.stop());
  return builds;
}

/** Puts a program named `bwrap` first on the path. */
function install(script: string, shell = "/bin/sh"): void {
  const program = path.join(folder, "bwrap");
  writeFileSync(program, `#!${shell}\n${script}\n`);
  chmodSync(program, 0o755);
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"] ?? ""}`);
}

const onLinux = process.platform === "linux" && ["x64", "arm64"].includes(process.arch);

describe.runIf(onLinux)("where bubblewrap does not work", () => {
  test("texts are built without it, the reason is known, and it is tried again after a while", async () => {
    install("echo 'bwrap: No permissions to create a new namespace' >&2\nexit 1");
    const builds = startBuilds();
    expect(await builds.run(SIMPLE, STRANGER)).toMatchObject({ kind: "done" });
    expect(buildSandbox()).toEqual({ kind: "off", reason: "bwrap: No permissions to create a new namespace" });
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 61_000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await builds.run(SIMPLE, STRANGER)).toMatchObject({ kind: "done" });
    expect(buildSandbox()).toMatchObject({ kind: "off" });
  });

  test("nor can be started, texts are built without it", async () => {
    // The state of the sandbox belongs to the process: by now it is tried again.
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 200_000);
    onTestFinished(() => void vi.restoreAllMocks());
    install("", "/no/such/interpreter");
    const builds = startBuilds();
    expect(await builds.run(SIMPLE, STRANGER)).toMatchObject({ kind: "done" });
    expect(buildSandbox().kind).toBe("off");
  });
});
