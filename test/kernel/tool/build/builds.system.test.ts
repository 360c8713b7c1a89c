import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { watchPressure } from "../../../../src/kernel/base/os/pressure.ts";
import { Builds } from "../../../../src/kernel/tool/build/builds.ts";
import type { Job } from "../../../../src/kernel/tool/build/job.ts";
import { children, descendants, isAlive } from "../../../processes.ts";

const DEADLINE = { registrant: "key:a", deadlineMs: 30_000 };
const started: Builds[] = [];

/** Other files of this process may have left some, which end when they have waited long enough. */
const before = children();

afterEach(async () => {
  for (const builds of started.splice(0)) builds.stop();
  await none();
});

function startBuilds(idleMs?: number): Builds {
  const builds = new Builds(idleMs);
  started.push(builds);
  return builds;
}

function jobOf(text: string): Job {
  return { head: { kind: "bundle", input: { kind: "text", name: "add" } }, texts: [text] };
}

const SIMPLE = jobOf("export default () => 1");
/** Takes esbuild a while. */
const LONG = jobOf(`export default [${"1,".repeat(1_000_000)}];`);

/** The build processes that this process has started: of their groups, the first. */
function processes(): number[] {
  return children().filter((pid) => !before.includes(pid) && commandOf(pid).includes("/tool/build/child."));
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`);
}

/** Empty once the process has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

async function oneProcess(): Promise<number> {
  await expect.poll(() => processes().length, { timeout: 60_000 }).toBe(1);
  return processes()[0] ?? 0;
}

const none = () => expect.poll(processes, { timeout: 60_000 }).toEqual([]);

test("one process has one job after the other, and ends when it has waited long enough", async () => {
  const builds = startBuilds(200);
  expect((await builds.run(SIMPLE, DEADLINE)).kind).toBe("done");
  const pid = await oneProcess();
  expect((await builds.run(SIMPLE, DEADLINE)).kind).toBe("done");
  expect(processes()).toEqual([pid]);
  await none();
  expect((await builds.run(SIMPLE, DEADLINE)).kind).toBe("done");
});

test("a machine short of processor time holds up a registrant's job, and not the operator's", async () => {
  const root = mkdtempSync(path.join(tmpdir(), "glovebox-pressure-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(path.join(root, "proc/pressure"), { recursive: true });
  const set = (percent: string) =>
    writeFileSync(path.join(root, "proc/pressure/cpu"), `some avg10=${percent} avg60=0.00`);
  set("95.00");
  using _watch = watchPressure(root, 20);
  const builds = startBuilds();
  const ended: string[] = [];
  const held = builds.run(SIMPLE, DEADLINE).then(({ kind }) => ended.push(`registrant ${kind}`));
  // Long enough for the registrant's job to end, if it had begun.
  for (let n = 0; n < 5; n++) expect((await builds.run(SIMPLE, { ...DEADLINE, registrant: null })).kind).toBe("done");
  expect(ended).toEqual([]);
  set("1.00");
  await held;
  expect(ended).toEqual(["registrant done"]);
});

test("a module with a mistake does not end the process", async () => {
  const builds = startBuilds();
  expect((await builds.run(jobOf("export default ("), DEADLINE)).kind).toBe("refused");
  const pid = await oneProcess();
  await builds.run(SIMPLE, DEADLINE);
  expect(processes()).toEqual([pid]);
});

test("a process ends after fifty jobs", async () => {
  const builds = startBuilds();
  for (let job = 1; job < 50; job++) await builds.run(SIMPLE, DEADLINE);
  await oneProcess();
  await builds.run(SIMPLE, DEADLINE);
  await none();
});

test("a job that takes too long ends with its process, esbuild included", async () => {
  const builds = startBuilds();
  await builds.run(SIMPLE, DEADLINE);
  const pid = await oneProcess();
  const bundlers = descendants(pid);
  expect(bundlers.map(commandOf)).toContainEqual(expect.stringContaining("/bin/esbuild"));
  expect(await builds.run(LONG, { ...DEADLINE, deadlineMs: 1 })).toEqual({ kind: "late" });
  await expect.poll(() => [pid, ...bundlers].filter(isAlive), { timeout: 60_000 }).toEqual([]);
  expect((await builds.run(SIMPLE, DEADLINE)).kind).toBe("done");
});

test("a job whose process is killed is done by another", async () => {
  const builds = startBuilds();
  const result = builds.run(LONG, DEADLINE);
  process.kill(await oneProcess(), "SIGKILL");
  expect((await result).kind).toBe("done");
});

test("a job whose process is killed twice fails, and the next is done", async () => {
  const builds = startBuilds();
  const result = builds.run(LONG, DEADLINE);
  const first = await oneProcess();
  process.kill(first, "SIGKILL");
  await expect.poll(() => processes().some((pid) => pid !== first), { timeout: 60_000 }).toBe(true);
  for (const pid of processes()) process.kill(pid, "SIGKILL");
  expect(await result).toEqual({ kind: "lost", reason: "SIGKILL" });
  expect((await builds.run(SIMPLE, DEADLINE)).kind).toBe("done");
});

test("an idle process that is killed is replaced", async () => {
  const builds = startBuilds();
  await builds.run(SIMPLE, DEADLINE);
  process.kill(await oneProcess(), "SIGKILL");
  expect((await builds.run(SIMPLE, DEADLINE)).kind).toBe("done");
});

test("a registrant has one job at a time, and all together four", async () => {
  const builds = startBuilds();
  const jobs = ["a", "a", "b", "c", "d", "e"].map((registrant) => builds.run(SIMPLE, { ...DEADLINE, registrant }));
  expect(processes().length).toBe(4);
  expect((await Promise.all(jobs)).map(({ kind }) => kind)).toEqual(jobs.map(() => "done"));
  expect(processes().length).toBe(4);
});

test("stopped, it leaves no process behind, and starts again", async () => {
  const builds = startBuilds();
  await builds.run(SIMPLE, DEADLINE);
  const under = builds.run(LONG, DEADLINE);
  builds.stop();
  expect(await under).toEqual({ kind: "lost", reason: "SIGKILL" });
  await none();
  expect((await builds.run(SIMPLE, DEADLINE)).kind).toBe("done");
});

test("stopped, it ends the jobs that wait as well", async () => {
  const builds = startBuilds();
  const jobs = [LONG, SIMPLE, SIMPLE].map((job) => builds.run(job, DEADLINE));
  await oneProcess();
  builds.stop();
  expect((await Promise.all(jobs)).map(({ kind }) => kind)).toEqual(["lost", "lost", "lost"]);
});

test("the operator's jobs run beside each other, as many as there are processors for", async () => {
  const builds = startBuilds();
  const jobs = Array.from({ length: 5 }, () => builds.run(SIMPLE, { ...DEADLINE, registrant: null }));
  const expected = Math.min(4, Math.max(2, availableParallelism()));
  expect(processes().length).toBe(expected);
  expect((await Promise.all(jobs)).map(({ kind }) => kind)).toEqual(jobs.map(() => "done"));
  expect(processes().length).toBe(expected);
});

/** A program that bundles a module, tells the processes below it, and does not stop them. */
const PROGRAM = `
  import { Builds } from ${JSON.stringify(new URL("../../../../src/kernel/tool/build/builds.ts", import.meta.url).href)};
  import { descendants } from ${JSON.stringify(new URL("../../../processes.ts", import.meta.url).href)};
  const { kind } = await new Builds().run(${JSON.stringify(SIMPLE)}, ${JSON.stringify(DEADLINE)});
  console.log(JSON.stringify({ kind, below: descendants("self") }));
`;
const toldBy = (text: string) => JSON.parse(text) as { readonly kind: string; readonly below: readonly number[] };

test("a process that waits for jobs keeps no program running, and ends with it", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", PROGRAM]);
  const { kind, below } = toldBy(stdout);
  expect(kind).toBe("done");
  expect(below.length).toBeGreaterThanOrEqual(2);
  await expect.poll(() => below.filter(isAlive), { timeout: 60_000 }).toEqual([]);
});

test("a process ends with a program that is killed", async () => {
  const program = spawn(process.execPath, ["--input-type=module", "-e", `${PROGRAM} setInterval(() => 0, 1000);`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = await once(program.stdout.setEncoding("utf8"), "data");
  program.kill("SIGKILL");
  const { below } = toldBy(String(text));
  expect(below.length).toBeGreaterThanOrEqual(2);
  await expect.poll(() => below.filter(isAlive), { timeout: 60_000 }).toEqual([]);
});
