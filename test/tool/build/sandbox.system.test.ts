import { chmodSync, existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Job } from "../../../src/tool/build/job.ts";
import { unless, works } from "../../executor/bubblewrap.ts";
import { descendants } from "../../processes.ts";

const SIMPLE: Job = {
  head: { kind: "bundle", input: { kind: "text", name: "add" } },
  texts: ["enum Size { Large = 3 } export default (): number => Size.Large"],
};
const SCHEMA: Job = { head: { kind: "checks" }, texts: ['{ "properties": { "at": { "format": "date" } } }'] };
const STRANGER = { registrant: "key:a", deadlineMs: 30_000 };
const OPERATOR = { registrant: null, deadlineMs: 30_000 };

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "glovebox-builds-"));
  // The state of the sandbox belongs to the process.
  vi.resetModules();
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

async function startBuilds() {
  const { Builds } = await import("../../../src/tool/build/builds.ts");
  const builds = new Builds();
  onTestFinished(() => builds.stop());
  return builds;
}

/** As it is in the modules that this test has loaded. */
const sandbox = () => import("../../../src/tool/build/sandbox.ts");

/** Empty once the process has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Node's processes that build, without those of the sandbox around them. */
function builders(): number[] {
  return descendants("self").filter((pid) => {
    const [program, ...args] = commandOf(pid).split("\0");
    return program === process.execPath && args.some((one) => one.includes("/tool/build/child."));
  });
}

/** Puts a program named `bwrap` first on the path. */
function install(script: string, shell = "/bin/sh"): void {
  const program = path.join(folder, "bwrap");
  writeFileSync(program, `#!${shell}\n${script}\n`);
  chmodSync(program, 0o755);
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"] ?? ""}`);
}

describe.skipIf(!works)(`what a stranger registers${unless}`, () => {
  test("is built without network, and without a file of the host", async () => {
    const secret = path.join(folder, "secret");
    writeFileSync(secret, "secret");
    const builds = await startBuilds();
    expect(await builds.run(SIMPLE, STRANGER)).toMatchObject({ kind: "done" });
    expect(await builds.run(SCHEMA, STRANGER)).toMatchObject({ kind: "done" });
    const [pid = 0, ...others] = builders();
    expect(others).toEqual([]);
    expect(readlinkSync(`/proc/${pid}/ns/net`)).not.toBe(readlinkSync("/proc/self/ns/net"));
    const root = `/proc/${pid}/root`;
    expect(existsSync(`${root}${process.execPath}`)).toBe(true);
    expect(
      [secret, "/etc/passwd", "/etc/hostname", "/usr/share", "/usr/src"].filter((one) => existsSync(root + one)),
    ).toEqual([]);
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
  });

  test("keeps a sandbox that has worked once", async () => {
    const builds = await startBuilds();
    await builds.run(SIMPLE, STRANGER);
    builds.stop();
    const { buildSandbox, giveUpSandbox } = await sandbox();
    giveUpSandbox("exit code 1");
    expect(buildSandbox().kind).toBe("bubblewrap");
  });

  test("shares no process with what the operator registers", async () => {
    const builds = await startBuilds();
    await builds.run(SIMPLE, OPERATOR);
    await builds.run(SIMPLE, STRANGER);
    expect(builders()).toHaveLength(2);
  });

  test("is read where a stranger's text of the operator is", async () => {
    const builds = await startBuilds();
    await builds.run(SCHEMA, STRANGER);
    await builds.run(SCHEMA, { ...OPERATOR, isForeign: true });
    expect(builders()).toHaveLength(1);
    await builds.run(SCHEMA, OPERATOR);
    expect(builders()).toHaveLength(2);
  });
});

const onLinux = process.platform === "linux" && ["x64", "arm64"].includes(process.arch);

describe.runIf(onLinux)("where bubblewrap does not work", () => {
  test("texts are built without it, the reason is known, and it is tried again after a while", async () => {
    install("echo 'bwrap: No permissions to create a new namespace' >&2\nexit 1");
    const builds = await startBuilds();
    expect(await builds.run(SIMPLE, STRANGER)).toMatchObject({ kind: "done" });
    const { buildSandbox } = await sandbox();
    expect(buildSandbox()).toEqual({ kind: "off", reason: "bwrap: No permissions to create a new namespace" });
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 61_000);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await builds.run(SIMPLE, STRANGER)).toMatchObject({ kind: "done" });
    expect(buildSandbox()).toMatchObject({ kind: "off" });
  });

  test("nor can be started, texts are built without it", async () => {
    install("", "/no/such/interpreter");
    const builds = await startBuilds();
    expect(await builds.run(SIMPLE, STRANGER)).toMatchObject({ kind: "done" });
    const { buildSandbox } = await sandbox();
    expect(buildSandbox().kind).toBe("off");
  });
});
