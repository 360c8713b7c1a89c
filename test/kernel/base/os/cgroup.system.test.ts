import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  claimGroups,
  delegation,
  findDelegation,
  openGroup,
  ControlGroup,
  releaseGroups,
} from "../../../../src/kernel/base/os/cgroup.ts";
import { createEngine } from "../../../../src/glovebox/index.ts";
import { findJail } from "../../../../src/kernel/broker/jail/jail.ts";
import { runInside } from "../../../../src/kernel/broker/jail/run.ts";
import { endBuilds } from "../../../kept-builds.ts";
import { descendants, executors, isAlive } from "../../../processes.ts";
import { MAIN, serve } from "../../../server/served.ts";

const UNIT = "/system.slice/glovebox.service";
const MOUNT = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";

let root: string;
const at = (...names: readonly string[]): string => path.join(root, "sys/fs/cgroup", UNIT, ...names);

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "glovebox-cgroup-"));
  mkdirSync(path.join(root, "proc/self"), { recursive: true });
  writeFileSync(path.join(root, "proc/self/cgroup"), `0::${UNIT}/host\n`);
  writeFileSync(path.join(root, "proc/self/mountinfo"), MOUNT);
});

afterEach(() => {
  releaseGroups();
  rmSync(root, { recursive: true });
});

/** Imitates the hierarchy in which systemd has delegated a unit's group. */
function delegate(): void {
  mkdirSync(at("host"), { recursive: true });
  writeFileSync(at("cgroup.procs"), "");
  writeFileSync(at("cgroup.controllers"), "cpu memory pids");
  writeFileSync(at("cgroup.subtree_control"), "cpu memory pids");
  expect(claimGroups(root)).toMatchObject({ kind: "delegated" });
}

const groups = (kind: string): string[] => readdirSync(at()).filter((name) => name.endsWith(`.${kind}`));
const pidIn = (group: string): number => Number(readFileSync(at(group, "cgroup.procs"), "utf8"));

/** Does what the kernel does to a group beyond its memory. */
function killFor(group: string, pids: readonly number[]): void {
  writeFileSync(at(group, "memory.events"), "low 0\nhigh 0\nmax 9\noom 1\noom_kill 2\noom_group_kill 1\n");
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      // A process inside dies with the one that made it.
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }
}

describe("with a delegated group", () => {
  test("executors and builds have limits, and a call in whose turn the kernel ends one has memory_limit", async () => {
    delegate();
    // Those that other tests have started are in no group.
    endBuilds();
    await using engine = await createEngine({
      executor: { kind: "process", rssMb: 400, spare: true },
      workers: 2,
    });
    const lost: unknown[] = [];
    engine.on("executor:lost", (event) => lost.push(event));
    await engine.register({
      name: "busy",
      description: "never ends",
      source: `export default () => { for (let n = 1; ; n++) if (n % 1e5 === 0) console.log("busy", n); };`,
      limits: { cpuMs: 20_000, wallMs: 30_000 },
    });
    expect(groups("build").length).toBeGreaterThan(0);
    // The spare starts a moment after the executor is ready, and each joins its group by itself.
    await expect.poll(() => groups("executor").map(pidIn).filter(isAlive)).toHaveLength(2);
    const below = descendants("self");
    const own = groups("executor");
    for (const group of own) {
      expect(below).toContain(pidIn(group));
      expect(readFileSync(at(group, "memory.max"), "utf8")).toBe(`${(400 * 1.5 + 256) * 1024 * 1024}\n`);
      expect(readFileSync(at(group, "memory.oom.group"), "utf8")).toBe("1\n");
      expect(readFileSync(at(group, "pids.max"), "utf8")).toBe("160\n");
    }
    // Far below what the kernel would end: a whole executor has this many tasks.
    const tasks = executors().map((pid) => readdirSync(`/proc/${pid}/task`).length);
    expect(Math.max(...tasks)).toBeLessThan(100);
    // The spare is the later one.
    const [active = ""] = own.toSorted((one, other) => Number(one.split(".")[3]) - Number(other.split(".")[3]));
    // What it says comes from within its turn.
    const begun = Promise.withResolvers<void>();
    const call = engine.execute({ name: "busy", arguments: {} }, { onLog: () => begun.resolve() });
    await begun.promise;
    killFor(active, [...descendants(pidIn(active)).toReversed(), pidIn(active)]);
    const { error } = await call;
    expect(error?.code).toBe("memory_limit");
    expect(error?.message).toContain("control group");
    expect(lost).toMatchObject([{ reason: "memory", culprits: ["busy"] }]);
    expect(readdirSync(at("host"))).toEqual([]);
  });

  test("a command that the kernel ends because of its memory is told as such", async ({ skip }) => {
    const jail = await findJail();
    if ("reason" in jail) return skip(jail.reason);
    delegate();
    const ended = runInside(
      jail.start,
      {
        program: ["/bin/sh", "-c", "sleep 20"],
        walls: [
          "--ro-bind",
          "/usr",
          "/usr",
          "--ro-bind-try",
          "/lib",
          "/lib",
          "--ro-bind-try",
          "/lib64",
          "/lib64",
        ].concat(["--ro-bind-try", "/bin", "/bin", "--proc", "/proc"]),
        limits: "",
        mayFork: true,
        ceilings: { tasks: 16, memoryBytes: 2 ** 28, cpuMs: null, folders: [], folderEntries: 0 },
        wallMs: 15_000,
        kept: null,
      },
      { stdin: "", outputBytes: 100, drainedBytes: 100 },
      new AbortController().signal,
    );
    await expect.poll(() => groups("jail").flatMap((name) => descendants(pidIn(name))).length).toBeGreaterThan(2);
    const [group = "", ...others] = groups("jail");
    expect(others).toEqual([]);
    expect(readFileSync(at(group, "pids.max"), "utf8")).toBe("32\n");
    const first = pidIn(group);
    killFor(group, [first, ...descendants(first).toReversed()]);
    expect(await ended).toMatchObject({ excess: "memory", exitCode: null, timedOut: false });
  });
});

describe("without one", () => {
  test("the service says why in /readyz, and doctor as well", async ({ skip }) => {
    const found = findDelegation();
    if (found.kind === "delegated") return skip("the tests run in a delegated group themselves");
    await using service = await serve([], { env: { GLOVEBOX_LOG_LEVEL: "info" } });
    const answer: unknown = await (await fetch(`${service.url}/readyz`)).json();
    expect(answer).toMatchObject({ status: "ready", cgroup: { kind: "off", reason: found.reason } });
    expect(found.reason).toMatch(/^cgroup v2 is not delegated: /);
    const said = execFileSync(process.execPath, [...MAIN, "doctor"], { encoding: "utf8" });
    expect(said).toContain(`warn  cgroup     ${found.reason}`);
  });
});

/** A real hierarchy of version 2 in which groups can be made, if there is one. Its controllers may be elsewhere. */
function realHierarchy(): string | null {
  try {
    for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
      const [place = "", source = ""] = line.split(" - ");
      const mount = place.split(" ")[4] ?? "";
      if (!source.startsWith("cgroup2 ")) continue;
      accessSync(path.join(mount, "cgroup.procs"), constants.W_OK);
      return mount;
    }
  } catch {
    // This user may write to no hierarchy.
  }
  return null;
}

const REAL = realHierarchy();

describe.skipIf(REAL === null)("in the kernel's own hierarchy", () => {
  let unit: string;

  beforeEach(() => {
    unit = path.join(REAL ?? "", `glovebox-test-${process.pid}`);
    mkdirSync(path.join(unit, "host"), { recursive: true });
    symlinkSync(REAL ?? "", path.join(root, "sys-fs-cgroup"));
    writeFileSync(path.join(root, "proc/self/cgroup"), `0::/${path.basename(unit)}/host\n`);
    writeFileSync(path.join(root, "proc/self/mountinfo"), MOUNT.replace("/sys/fs/cgroup", "/sys-fs-cgroup"));
  });

  afterEach(async () => {
    releaseGroups();
    const isRemoved = (): boolean => {
      for (const name of readdirSync(unit, { withFileTypes: true })) {
        if (name.isDirectory()) rmdirSync(path.join(unit, name.name));
      }
      rmdirSync(unit);
      return true;
    };
    await expect.poll(isRemoved).toBe(true);
  });

  function sleeper(command: string): ChildProcess {
    const child = spawn("/bin/sh", ["-c", command], { stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  }

  test("a process joins its group with all that it starts, and what is left in it ends with the group", async () => {
    const directory = path.join(unit, "glovebox.1.0.1.jail");
    mkdirSync(directory);
    const group = new ControlGroup(directory);
    const child = sleeper(`${group.joinCommand}\nsleep 30 & sleep 30 & wait`);
    const members = () => readFileSync(path.join(directory, "cgroup.procs"), "utf8").trim().split("\n").map(Number);
    await expect.poll(members).toHaveLength(3);
    expect(members()).toContain(child.pid);
    process.kill(child.pid ?? Number.NaN, "SIGKILL");
    await once(child, "exit");
    expect(group.end()).toBe(false);
    await expect.poll(() => existsSync(directory)).toBe(false);
  });

  test("its files tell whether the group can be used, and no group is made where it cannot", () => {
    const controllers = readFileSync(path.join(unit, "cgroup.controllers"), "utf8").split(/\s+/);
    const claimed = claimGroups(root);
    const missing = ["memory", "pids"].filter((name) => !controllers.includes(name));
    if (missing.length > 0) {
      expect(claimed).toMatchObject({ kind: "off", reason: expect.stringContaining(missing.join(" and ")) });
      expect(openGroup("jail", { memoryBytes: 2 ** 28, tasks: 8, cpuWeight: 20 })).toBeNull();
      expect(readdirSync(unit).filter((name) => name.startsWith("glovebox."))).toEqual([]);
      return;
    }
    expect(claimed).toMatchObject({ kind: "delegated" });
    const group = openGroup("jail", { memoryBytes: 2 ** 28, tasks: 8, cpuWeight: 20 });
    expect(delegation()).toMatchObject({ kind: "delegated" });
    group?.end();
  });

  test.runIf(["memory", "pids"].every((name) => controllersOf(REAL).includes(name)))(
    "a process beyond its memory is ended by the kernel alone, and known for it",
    async () => {
      claimGroups(root);
      const group = openGroup("jail", { memoryBytes: 64 * 1024 * 1024, tasks: 16, cpuWeight: 20 });
      const eater = `"${process.execPath}" -e 'const all = []; for (;;) all.push(Buffer.alloc(1e7, 1))'`;
      const child = sleeper(`${group?.joinCommand}\nexec ${eater}`);
      const [, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
      expect(signal).toBe("SIGKILL");
      expect(group?.end()).toBe(true);
    },
  );
});

function controllersOf(hierarchy: string | null): readonly string[] {
  return hierarchy === null ? [] : readFileSync(path.join(hierarchy, "cgroup.controllers"), "utf8").split(/\s+/);
}
