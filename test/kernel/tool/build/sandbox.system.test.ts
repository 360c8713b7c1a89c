import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { Builds } from "../../../../src/kernel/tool/build/builds.ts";
import type { Job } from "../../../../src/kernel/tool/build/job.ts";
import { buildSandbox, giveUpSandbox } from "../../../../src/kernel/tool/build/sandbox.ts";
import { unless, works } from "../../executor/bubblewrap.ts";
import { descendants } from "../../../processes.ts";

const SIMPLE: Job = {
  head: { kind: "bundle", input: { kind: "text", name: "add" } },
  texts: ["enum Size { Large = 3 } export default (): number => Size.Large"],
};
const SCHEMA: Job = { head: { kind: "checks" }, texts: ['{ "properties": { "at": { "format": "date" } } }'] };
const STRANGER = { registrant: "key:a", deadlineMs: 30_000 };
const OPERATOR = { registrant: null, deadlineMs: 30_000 };

let folder = "";
/** Those of the engines that had this process before. */
const earlier = new Set<number>();

beforeEach(() => {
  earlier.clear();
  for (const pid of builders()) earlier.add(pid);
  folder = mkdtempSync(path.join(tmpdir(), "glovebox-builds-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function startBuilds(): Builds {
  const builds = new Builds();
  onTestFinished(() => builds.stop());
  return builds;
}

/** Empty once the process has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Node's processes that build for the test, without those of the sandbox around them. */
function builders(): number[] {
  return descendants("self").filter((pid) => {
    if (earlier.has(pid)) return false;
    const [program, ...args] = commandOf(pid).split("\0");
    return program === process.execPath && args.some((one) => one.includes("/tool/build/child."));
  });
}

describe.skipIf(!works)(`what a stranger registers${unless}`, () => {
  test("is built without network, and without a file of the host", async () => {
    const secret = path.join(folder, "secret");
    writeFileSync(secret, "secret");
    const builds = startBuilds();
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

  test("is worked on by a module of another package, of whose folder the sandbox shows nothing else", async () => {
    const module = path.join(folder, "work.mjs");
    const secret = path.join(folder, "secret");
    writeFileSync(secret, "secret");
    writeFileSync(
      module,
      `import { existsSync } from "node:fs";
export function work({ secret }, [text]) {
  if (text === "odd") throw new Error("it is odd");
  return { value: existsSync(secret), texts: [text.toUpperCase()] };
}`,
    );
    const builds = startBuilds();
    // A process that is there already does not show the module.
    expect(await builds.run(SIMPLE, STRANGER)).toMatchObject({ kind: "done" });
    const head = { kind: "module", module: pathToFileURL(module).href, data: { secret } } as const;
    expect(await builds.run({ head, texts: ["a"] }, STRANGER)).toEqual({ kind: "done", value: false, texts: ["A"] });
    const [pid] = builders();
    expect(await builds.run({ head, texts: ["odd"] }, STRANGER)).toEqual({
      kind: "refused",
      message: "Error: it is odd",
    });
    expect(builders()).toEqual([pid]);
  });

  test("keeps a sandbox that has worked once", async () => {
    const builds = startBuilds();
    await builds.run(SIMPLE, STRANGER);
    builds.stop();
    giveUpSandbox("exit code 1");
    expect(buildSandbox().kind).toBe("bubblewrap");
  });

  test("shares no process with what the operator registers", async () => {
    const builds = startBuilds();
    await builds.run(SIMPLE, OPERATOR);
    await builds.run(SIMPLE, STRANGER);
    expect(builders()).toHaveLength(2);
  });

  test("is read where a stranger's text of the operator is", async () => {
    const builds = startBuilds();
    await builds.run(SCHEMA, STRANGER);
    await builds.run(SCHEMA, { ...OPERATOR, isForeign: true });
    expect(builders()).toHaveLength(1);
    await builds.run(SCHEMA, OPERATOR);
    expect(builders()).toHaveLength(2);
  });
});
