import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { writeFilter } from "../../../src/kernel/base/os/bubblewrap.ts";
import { Sandbox } from "../../../src/kernel/executor/process/sandbox.ts";
import { descendants, isAlive } from "../../processes.ts";
import { unless, works } from "./bubblewrap.ts";
import { type Bench, script, startExecutor } from "./jobs.ts";

const SOURCE = fileURLToPath(new URL("walls.c", import.meta.url));
const PROGRAM = fileURLToPath(new URL("programs/serves.ts", import.meta.url));
const COMPILER = "gcc";
const HAS_COMPILER = spawnSync(COMPILER, ["--version"]).status === 0;
const EPERM = 1;
/** What any program may do, which is the proof that this one would be able to. */
const ORDINARY =
  "socket-unix socket-netlink socket-inet connect read-passwd read-file read-home write-file write-shm write-comm memfd signal-host fork thread".split(
    " ",
  );
/** Actions that the list of system calls alone must refuse, not a missing resource. */
const FILTERED =
  "socket-inet fork read-host trace unshare setns mount umount pivot chroot bpf perf userfault io-uring keys handle module kexec".split(
    " ",
  );
const FILTER_FD = 3;

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-sandbox-"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** The executor's processes, outermost first: the one that its event names, and whatever is below it. */
function processesOf({ events }: Bench): [outer: number, ...number[]] {
  const pid = Number(events.findLast(({ name }) => name === "executor:start")?.["pid"] ?? Number.NaN);
  return [pid, ...descendants(pid)];
}

/** A call that does not end by itself: what it says comes from within its turn. */
async function spin(bench: Bench) {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const body = "() => { for (let n = 1; ; n++) if (n % 1e5 === 0) console.log('spins', n); }";
  const job = bench.job(script(body), {}, { onLog: () => resolve(), limits: { cpuMs: 20_000 } });
  const reply = bench.run(job);
  await begun;
  return { reply, job };
}

describe.skipIf(!works)(`an executor inside bubblewrap${unless}`, () => {
  const start = () => startExecutor("process", 1, { sandbox: "require", spare: false });

  describe("that goes on", () => {
    let bench: Bench;
    beforeAll(async () => {
      bench = await start();
    });
    afterAll(() => bench[Symbol.asyncDispose]());

    test("has no capabilities, no way to new ones, and a filter of system calls", async () => {
      const status = readFileSync(`/proc/${processesOf(bench).at(-1)}/status`, "utf8");
      for (const name of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) {
        expect(status).toMatch(new RegExp(`^${name}:\\t0+$`, "m"));
      }
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status).toMatch(/^Seccomp:\t2$/m);
    });

    test("shares no namespace with the host", async () => {
      const inside = processesOf(bench).at(-1);
      const shared = ["user", "pid", "net", "mnt", "ipc", "uts", "cgroup"].filter(
        (name) => readlinkSync(`/proc/${inside}/ns/${name}`) === readlinkSync(`/proc/self/ns/${name}`),
      );
      expect(shared).toEqual([]);
    });

    test("is in no process group of the host's, to which it could send a signal", async () => {
      const groupOf = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[2]);
      const [outer, ...inside] = processesOf(bench);
      expect(inside.length).toBeGreaterThan(1);
      for (const pid of inside) expect(inside).toContain(groupOf(pid));
      expect(inside).not.toContain(groupOf(outer));
    });

    test("sees no file system that it can write to, and nothing but code", async () => {
      const mounts = readFileSync(`/proc/${processesOf(bench).at(-1)}/mounts`, "utf8")
        .trim()
        .split("\n");
      const writable = mounts.filter((line) => !/^ro(?:,|$)/.test(line.split(" ")[3] ?? ""));
      expect(writable).toEqual([]);
      const places = mounts.map((line) => line.split(" ")[1] ?? "");
      const foreign = places.filter(
        (place) =>
          !/^\/(?:proc|runtimes\/python|usr\/lib\S*|lib\S*|etc\/ld.so.cache|etc\/alpine-release)?$/.test(place),
      );
      const known = /node_modules$|\/(?:src|compiled|built)$|\/package.json$|\/bin\/node$/;
      expect(foreign.filter((place) => !known.test(place))).toEqual([]);
    });

    test("is the first that a machine without memory gives up, and writes no core", async () => {
      const inside = processesOf(bench).at(-1);
      expect(Number(readFileSync(`/proc/${inside}/oom_score_adj`, "utf8"))).toBeGreaterThanOrEqual(500);
      expect(readFileSync(`/proc/${inside}/limits`, "utf8")).toMatch(/^Max core file size +0 +0/m);
    });

    test("runs its tools", async () => {
      expect(bench.executor.stats().sandbox).toEqual({ kind: "bubblewrap" });
      const reply = await bench.run(bench.job(script("({ a }) => a * 2"), { a: 21 }));
      expect(reply.outcome).toEqual({ ok: true, json: "42" });
    });

    test("takes no notice of a signal that its whole group is told to end by", async () => {
      const [outer] = processesOf(bench);
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.kill(outer, signal);
      const body = "() => new Promise((done) => setTimeout(done, 200, 1))";
      expect(await bench.run(bench.job(script(body)))).toMatchObject({ outcome: { ok: true }, attempts: 1 });
    });
  });

  test.each(["SIGABRT", "SIGSEGV"] as const)("is known to have ended by %s, by its call's fault", async (signal) => {
    await using bench = await start();
    const { reply } = await spin(bench);
    process.kill(processesOf(bench).at(-1) ?? Number.NaN, signal);
    expect((await reply).outcome).toMatchObject({
      failure: { code: "executor_crashed", message: expect.stringContaining(signal) },
    });
  });

  test("is nobody's fault when it is killed from outside", async () => {
    await using bench = await start();
    const { reply, job } = await spin(bench);
    process.kill(processesOf(bench).at(-1) ?? Number.NaN, "SIGKILL");
    await expect
      .poll(() => bench.events)
      .toContainEqual(expect.objectContaining({ name: "executor:lost", reason: "killed", culprits: [] }));
    bench.executor.cancel(job.callNumber, "cancelled", "the test is over");
    expect((await reply).outcome).toMatchObject({ failure: { code: "cancelled" } });
  });

  test("leaves nothing behind when the engine closes", async () => {
    const bench = await start();
    await spin(bench);
    const all = processesOf(bench);
    expect(all.length).toBeGreaterThan(1);
    await bench.executor.close();
    // Not in a while: now.
    expect(all.filter(isAlive)).toEqual([]);
  });

  test("leaves nothing behind when what stands around it is killed", async () => {
    await using bench = await start();
    await spin(bench);
    const all = processesOf(bench);
    process.kill(all[0], "SIGKILL");
    await expect.poll(() => all.filter(isAlive), { timeout: 60_000 }).toEqual([]);
  });

  test("leaves nothing behind when its host is killed", async () => {
    const host = spawn(process.execPath, ["--no-warnings", PROGRAM], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const guard = setTimeout(() => host.kill("SIGKILL"), 120_000);
    const [said] = (await once(host.stdout, "data")) as [Buffer];
    const all = JSON.parse(String(said)) as number[];
    expect(all.filter(isAlive).length).toBeGreaterThan(2);
    host.kill("SIGKILL");
    await expect.poll(() => all.filter(isAlive), { timeout: 60_000 }).toEqual([]);
    clearTimeout(guard);
  });
});

const noCompiler = HAS_COMPILER ? "" : " (not here: there is no gcc)";

describe.skipIf(!works || !HAS_COMPILER)(`native code inside the sandbox${unless || noCompiler}`, () => {
  /** What native code that a Node has loaded says it could do: `name errno` in each line, 0 where it could. */
  async function tryAll(where: "inside" | "outside"): Promise<Map<string, string[]>> {
    const library = join(folder, "walls.so");
    execFileSync(COMPILER, ["-shared", "-fPIC", "-pthread", "-o", library, SOURCE]);
    const secret = join(folder, "secret");
    writeFileSync(secret, "of the host");
    chmodSync(folder, 0o755);
    await using server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const sandbox = new Sandbox("require");
    await sandbox.prepare();
    const node = [process.execPath, "-e", `process.dlopen({ exports: {} }, ${JSON.stringify(library)})`];
    // The very command of an executor, but for the file that is to be tried out.
    const inside = [...sandbox.wrap(node, [], FILTER_FD)];
    inside.splice(inside.indexOf("--proc"), 0, "--ro-bind", library, library);
    const [file = "", ...args] = where === "inside" ? inside : node;
    const child = spawn(file, args, {
      stdio: ["ignore", "pipe", "inherit", where === "inside" ? "pipe" : "ignore"],
      timeout: 120_000,
      killSignal: "SIGKILL",
      env: {
        GLOVEBOX_PORT: String(address !== null && typeof address === "object" ? address.port : 0),
        GLOVEBOX_PID: String(process.pid),
        GLOVEBOX_FILE: secret,
        GLOVEBOX_HOME: homedir(),
      },
    });
    if (where === "inside") writeFilter(child.stdio[FILTER_FD], sandbox.filter ?? new Uint8Array());
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (more: string) => (text += more));
    await once(child, "close");
    const said = new Map<string, string[]>();
    for (const line of text.trim().split("\n")) {
      const [name = "", ...rest] = line.split(/\s+/);
      said.set(name, [...(said.get(name) ?? []), rest.join(" ")]);
    }
    return said;
  }

  const could = (said: Map<string, string[]>) =>
    [...said].filter(([, results]) => results.includes("0")).map(([name]) => name);

  test("reaches no network, no file, no other process and nothing of the kernel, where outside it does", async () => {
    const [inside, outside] = [await tryAll("inside"), await tryAll("outside")];
    expect(could(inside)).toEqual(["thread"]);
    expect(could(outside)).toEqual(expect.arrayContaining(ORDINARY));
    for (const name of FILTERED) {
      expect([name, inside.get(name)]).toEqual([name, [String(EPERM)]]);
    }
    expect(inside.get("process")).not.toContain(String(process.pid));
    expect(inside.get("process")?.length).toBeLessThanOrEqual(2);
    expect(outside.get("process")).toContain(String(process.pid));
  });

  test("has no rights, and inherits no descriptor of the sandbox's own", async () => {
    const said = await tryAll("inside");
    expect(said.get("status")).toEqual([
      ...["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map((name) => `${name}: 0000000000000000`),
      "NoNewPrivs: 1",
      "Seccomp: 2",
    ]);
    expect(said.get("open")).toBeUndefined();
  });
});

describe("where bubblewrap does not work", () => {
  const withCommand = (lines: string) => {
    if (lines !== "") writeFileSync(join(folder, "bwrap"), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
    vi.stubEnv("PATH", folder);
  };

  test.each([
    ["is not installed", "", "bubblewrap is not installed"],
    [
      "may not mount",
      'echo "bwrap: Can\'t mount proc on /newroot/proc: Operation not permitted" >&2; exit 1',
      "Can't mount",
    ],
    ["says nothing", "exit 3", "exit code 3"],
    ["runs something else", "echo v1.0.0", "exit code 0"],
  ])("because it %s, executors run without it, and say why", async (_why, lines, reason) => {
    withCommand(lines);
    await using bench = await startExecutor("process", 1, { spare: false });
    expect(bench.executor.stats().sandbox).toEqual({ kind: "off", reason: expect.stringContaining(reason) });
    expect((await bench.run(bench.job(script("() => 1")))).outcome).toEqual({ ok: true, json: "1" });
  });

  test("an engine that requires it does not start, and says why", async () => {
    withCommand("");
    const starting = createEngine({ workers: 1, executor: { kind: "process", sandbox: "require" } });
    await expect(starting).rejects.toMatchObject({
      name: "GloveboxError",
      code: "executor_lost",
      message: expect.stringContaining("bubblewrap is not installed"),
    });
  });

  test("an engine that does not want it has none, wherever it works", async () => {
    await using engine = await createEngine({
      workers: 1,
      executor: { kind: "process", sandbox: "off", spare: false },
    });
    expect(engine.stats().executor.sandbox).toEqual({ kind: "off", reason: "it is turned off" });
    expect(await engine.metrics()).toContain("glovebox_executor_sandboxed 0");
  });

  test("an engine on threads cannot require it", async () => {
    const starting = createEngine({ executor: { kind: "threads", sandbox: "require" } });
    await expect(starting).rejects.toThrow(/executor.sandbox/);
  });
});

test.skipIf(!works)(`an engine inside bubblewrap says so in its metrics${unless}`, async () => {
  await using engine = await createEngine({ workers: 1, executor: { kind: "process", spare: false } });
  expect(engine.stats().executor.sandbox).toEqual({ kind: "bubblewrap" });
  expect(await engine.metrics()).toContain("glovebox_executor_sandboxed 1");
});
