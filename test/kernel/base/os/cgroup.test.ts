import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  claimGroups,
  delegation,
  findDelegation,
  openGroup,
  releaseGroups,
} from "../../../../src/kernel/base/os/cgroup.ts";

// A folder that imitates the files of a machine: `/proc` and a hierarchy of version 2 in which systemd has delegated a
// unit's group. The kernel's own behaviour is in `cgroup.system.test.ts`.

const UNIT = "system.slice/glovebox.service";
const LIMITS = { memoryBytes: 1_000_000, tasks: 7, cpuWeight: 20 };
const MOUNT = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

let root: string;

interface Machine {
  /** Path of this process's group. */
  readonly own?: string;
  readonly mountinfo?: string;
  readonly controllers?: string;
  readonly enabled?: string;
  /** Processes in the unit's own group. */
  readonly processes?: string;
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), text);
}

const at = (...names: readonly string[]): string => path.join(root, "sys/fs/cgroup", UNIT, ...names);

function imitate({ own = `/${UNIT}/host`, mountinfo = MOUNT, ...unit }: Machine = {}): void {
  const { controllers = "cpuset cpu io memory pids", enabled = "", processes = "" } = unit;
  write("proc/self/cgroup", `0::${own}\n`);
  write("proc/self/mountinfo", `22 1 254:0 / / rw - ext4 /dev/vda rw\n${mountinfo}`);
  for (const folder of ["sys/fs/cgroup", "sys/fs/cgroup/system.slice", `sys/fs/cgroup/${UNIT}`]) {
    write(`${folder}/cgroup.procs`, folder.endsWith(UNIT) ? processes : "");
    write(`${folder}/cgroup.controllers`, `${controllers}\n`);
    write(`${folder}/cgroup.subtree_control`, folder.endsWith(UNIT) ? enabled : controllers);
  }
  write(`sys/fs/cgroup/${UNIT}/host/cgroup.procs`, `${process.pid}\n`);
}

/** All files below the root, with their contents. */
function contents(): Record<string, string> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [path.relative(root, file), readFileSync(file, "utf8")];
    }),
  );
}

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "glovebox-cgroup-"));
});

afterEach(() => {
  releaseGroups();
  rmSync(root, { recursive: true });
});

test("a process has limits in a group beside its host's, and is told apart when the kernel ended it", () => {
  imitate();
  expect(claimGroups(root)).toEqual({ kind: "delegated", directory: at() });
  const group = openGroup("executor", LIMITS);
  const name = readdirSync(at()).find((each) => each.startsWith("glovebox.")) ?? "";
  expect(name).toMatch(new RegExp(`^glovebox\\.${process.pid}\\.\\d+\\.\\d+\\.executor$`));
  const pid = execFileSync("/bin/sh", ["-c", `${group?.joinCommand}; echo $$`], { encoding: "utf8" });
  expect(Object.fromEntries(readdirSync(at(name)).map((file) => [file, readFileSync(at(name, file), "utf8")]))).toEqual(
    {
      "memory.max": "1000000\n",
      "memory.swap.max": "0\n",
      "memory.oom.group": "1\n",
      "pids.max": "7\n",
      "cpu.weight": "20\n",
      "cgroup.procs": pid,
    },
  );
  expect(group?.joinCommand).toContain(at(name, "cgroup.procs"));
  writeFileSync(at(name, "memory.events"), "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n");
  expect(group?.end()).toBe(true);
});

test("a process that ended by itself left no trace of the kernel's", () => {
  imitate();
  claimGroups(root);
  for (const events of [null, "low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n"]) {
    const group = openGroup("jail", LIMITS);
    const name = readdirSync(at()).findLast((each) => each.endsWith(".jail")) ?? "";
    if (events !== null) writeFileSync(at(name, "memory.events"), events);
    expect(group?.end()).toBe(false);
  }
});

test("a group without processes is removed at once", () => {
  imitate();
  claimGroups(root);
  const group = openGroup("build", LIMITS);
  const name = readdirSync(at()).find((each) => each.endsWith(".build")) ?? "";
  // The files of a group are the kernel's, and vanish with it.
  for (const file of readdirSync(at(name))) rmSync(at(name, file));
  group?.end();
  expect(existsSync(at(name))).toBe(false);
});

test("what hosts that have ended left behind is removed, and nothing else", () => {
  imitate();
  const names = {
    ended: "glovebox.4194305.0.1.executor",
    earlier: `glovebox.${process.pid}.0.9999.jail`,
    ours: `glovebox.${process.ppid}.0.1.build`,
    other: "postgres",
    similar: "glovebox.4194305.0.1.other",
  };
  for (const name of Object.values(names)) mkdirSync(at(name));
  claimGroups(root);
  const left = readdirSync(at()).filter((name) => Object.values<string>(names).includes(name));
  expect(left.toSorted()).toEqual([names.ours, names.other, names.similar].toSorted());
});

test("controllers that the group's children lack are enabled, and no others", () => {
  imitate({ enabled: "pids" });
  claimGroups(root);
  // The imitation keeps what was written last; the processor's controller is wanted too.
  expect(readFileSync(at("cgroup.subtree_control"), "utf8")).toBe("+cpu\n");
  rmSync(root, { recursive: true });
  imitate({ enabled: "cpu memory pids" });
  claimGroups(root);
  expect(readFileSync(at("cgroup.subtree_control"), "utf8")).toBe("cpu memory pids");
});

const DELEGATE = "run the service with Delegate=yes and DelegateSubgroup=host of systemd 254 or later";

test.each<[string, Machine, string]>([
  [
    "a service that nothing is delegated to",
    { own: `/${UNIT}` },
    `the group of this process is not named host; ${DELEGATE}`,
  ],
  [
    "a user's session",
    { own: "/user.slice/session-3.scope" },
    `the group of this process is not named host; ${DELEGATE}`,
  ],
  ["processes in the group above", { processes: "812\n" }, `other processes are in the group above; ${DELEGATE}`],
  ["no memory controller", { controllers: "cpu pids" }, `the group has no controller for memory; ${DELEGATE}`],
  ["no controllers", { controllers: "hugetlb" }, `the group has no controller for memory and pids; ${DELEGATE}`],
  [
    "the root of the hierarchy",
    { own: "/" },
    "this system has no hierarchy of version 2 that shows this process's group",
  ],
  [
    "version 1 only",
    { mountinfo: "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" },
    "this system has no hierarchy of version 2 that shows this process's group",
  ],
  [
    "a group outside of its namespace",
    { own: "/../host" },
    "this system has no hierarchy of version 2 that shows this process's group",
  ],
])("with %s nothing is written, and the reason is told", (_, machine, reason) => {
  imitate(machine);
  const before = contents();
  expect(claimGroups(root)).toEqual({ kind: "off", reason: `cgroup v2 is not delegated: ${reason}` });
  expect(delegation()).toEqual(findDelegation(root));
  expect(openGroup("executor", LIMITS)).toBeNull();
  expect(contents()).toEqual(before);
});

test("a system without control groups is told", () => {
  const reason = "cgroup v2 is not delegated: this system does not tell its control groups (ENOENT)";
  expect(claimGroups(root)).toEqual({ kind: "off", reason });
});

test("an engine in a program that claimed nothing makes no groups", () => {
  imitate();
  const before = contents();
  expect(delegation()).toBeNull();
  expect(openGroup("executor", LIMITS)).toBeNull();
  expect(findDelegation(root).kind).toBe("delegated");
  expect(contents()).toEqual(before);
});

test("a group that cannot be made is a reason, until one can", () => {
  imitate();
  claimGroups(root);
  rmSync(at(), { recursive: true });
  expect(openGroup("executor", LIMITS)).toBeNull();
  expect(delegation()).toEqual({ kind: "off", reason: "a control group could not be made: ENOENT" });
  imitate();
  expect(openGroup("executor", LIMITS)).not.toBeNull();
  expect(delegation()).toEqual({ kind: "delegated", directory: at() });
});

test("nothing outside of the delegated group is written, whatever the machine is like", () => {
  const text = fc.constantFrom("", "cpu", "memory", "pids", "cpu memory pids", "hugetlb");
  const machines = fc.record({
    own: fc.constantFrom(
      `/${UNIT}/host`,
      `/${UNIT}`,
      "/host",
      "/",
      `/${UNIT}/host/deeper`,
      "/../host",
      "/system.slice",
    ),
    mountinfo: fc.constantFrom(MOUNT, MOUNT.replace(" / ", ` /${UNIT} `), MOUNT.replace(" / ", " /other "), ""),
    controllers: text,
    enabled: text,
    processes: fc.constantFrom("", "1\n"),
  });
  fc.assert(
    fc.property(machines, (machine) => {
      imitate(machine);
      const before = contents();
      const state = claimGroups(root);
      openGroup("jail", LIMITS);
      const after = contents();
      const changed = Object.keys(after).filter((file) => after[file] !== before[file]);
      const allowed = state.kind === "delegated" ? path.relative(root, state.directory) : null;
      for (const file of changed) {
        expect(allowed).not.toBeNull();
        const inside = path.relative(allowed ?? "", file);
        expect(inside).toMatch(/^(?:cgroup\.subtree_control|glovebox\.[^/]+\/[^/]+)$/);
      }
      if (allowed !== null) expect(machine.own).toMatch(/\/host$/);
      rmSync(root, { recursive: true });
      mkdirSync(root);
    }),
    { numRuns: 200 },
  );
});
