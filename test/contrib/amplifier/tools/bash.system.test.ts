import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { referenceTool } from "../../../../src/contrib/amplifier/reference-tools.ts";
import { createEngine, type Engine, type JsonValue } from "../../../../src/glovebox/index.ts";
import { processesWith } from "../../../processes.ts";
import { noJail } from "../../../kernel/broker/capabilities/exec/opened.ts";

let engine: Engine;
let folder: string;

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-bash-")));
  const exec = { wallMs: 60_000, mounts: { "/data": { path: folder, mode: "rw" } } } as const;
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    maxLimits: { outputBytes: 16 * 1024 * 1024, capabilityBytes: 32 * 1024 * 1024 },
    policy: { rules: [{ tools: ["bash"], tenants: ["", "acme"], allow: { exec } }] },
  });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

beforeEach(() => mount({}));

async function mount(config: JsonValue): Promise<void> {
  await engine.register({ path: referenceTool("bash"), config });
}

const bash = (command: string, more: object = {}, options: { tenant?: string; signal?: AbortSignal } = {}) =>
  engine.execute({ name: "bash", arguments: { command, ...more } }, options);

test("commands have a tool, which is Amplifier's [A43 B30]", () => {
  const info = engine.get("bash");
  expect([info?.contract, info?.description]).toEqual(["amplifier", "Execute shell commands"]);
  expect(info?.inputSchema).toEqual({
    type: "object",
    properties: {
      command: { type: "string", description: "Command to execute" },
      timeout: { type: "integer", default: 30 },
    },
    required: ["command"],
  });
});

describe.skipIf(noJail !== undefined)(`a command (${noJail ?? "in bubblewrap"})`, () => {
  test("that ends well gives what it wrote, and what it wrote to stderr only where that is something [B35]", async () => {
    const plain = await bash("echo out");
    expect([plain.success, plain.output, plain.metadata["exit_code"]]).toEqual([true, "out\n", 0]);
    expect((await bash("echo out; echo err >&2")).output).toBe("out\n\nstderr: err\n");
    expect((await bash("")).output).toBe("");
  });

  test("that fails gives its stdout, its stderr as the message, and its exit code [B34]", async () => {
    const { success, output, error } = await bash("echo out; echo err >&2; exit 3");
    expect([success, output]).toEqual([false, "out\n"]);
    expect(error).toMatchObject({ message: "err\n", type: "CommandFailed", details: { exit_code: 3 } });
  });

  test("that takes longer than its timeout is ended, with what it has started [B36 B37]", async () => {
    const seconds = `${100_000 + Math.floor(Math.random() * 900_000)}.5`;
    // A slow machine needs more time than a quick one until both are there.
    for (let [seen, timeout] = [0, 3]; seen < 2; timeout *= 3) {
      let isOver = false;
      const command = `echo before; sleep ${seconds} & sleep ${seconds}`;
      const running = bash(command, { timeout }).finally(() => (isOver = true));
      while (!isOver && seen < 2) seen = await processesWith(`sleep\0${seconds}`);
      const { success, error } = await running;
      const message = `Command timed out after ${timeout}s`;
      expect([success, error?.type, error?.message]).toEqual([false, "TimeoutError", message]);
      expect(await processesWith(seconds)).toBe(0);
    }
  });

  test("has the time that its call gives it, else what the config gives it [B31]", async () => {
    await mount({ timeout: 1 });
    expect((await bash("sleep 20")).error?.message).toBe("Command timed out after 1s");
    expect((await bash("sleep 1.5; echo done", { timeout: 20 })).output).toBe("done\n");
  });

  test("has no more time than the policy gives it, and is told how much that was", async () => {
    const exec = { exec: { wallMs: 1_000 } };
    const { error } = await engine.execute(
      { name: "bash", arguments: { command: "sleep 20" } },
      { capabilities: exec },
    );
    expect(error?.message).toBe("Command timed out after 1s");
  });

  test("ends with its call", async () => {
    const seconds = `${100_000 + Math.floor(Math.random() * 900_000)}.75`;
    const abort = new AbortController();
    const running = bash(`sleep ${seconds}`, {}, { signal: abort.signal });
    await expect.poll(() => processesWith(`sleep\0${seconds}`)).toBe(1);
    abort.abort();
    expect((await running).error?.code).toBe("cancelled");
    await expect.poll(() => processesWith(seconds)).toBe(0);
  });

  test("sees the folders that the policy gives it, and nothing else of the host [B38]", async () => {
    writeFileSync(path.join(folder, "x.txt"), "content");
    expect((await bash("cat /data/x.txt")).output).toBe("content");
    const { success, error } = await bash(`ls ${folder} /etc/passwd`);
    expect([success, error?.type]).toEqual([false, "CommandFailed"]);
  });

  test("that has too much of the machine is ended, and says of what", async () => {
    const { error, output } = await bash("yes");
    expect(error).toMatchObject({ type: "ResourceLimitError", message: "Command was ended: too much output" });
    expect(output).toMatch(/^y\ny\n/);
  });

  test("whose output is long has its beginning, and says so [B41 B44]", async () => {
    const { output, metadata } = await bash("head -c 50007 /dev/zero | tr '\\0' x");
    expect(output === `${"x".repeat(50_000)}\n\n[Truncated: 7 chars remaining]`).toBe(true);
    expect([metadata.truncated?.output, metadata["originalChars"]]).toEqual([7, 50_007]);
    const endless = await bash("head -c 3000000 /dev/zero | tr '\\0' x");
    expect([endless.success, endless.metadata["output_is_beginning"]]).toEqual([true, true]);
  });
});

describe("a command that is not run", () => {
  const made = () => readdirSync(folder).filter((name) => name.startsWith("made"));

  test("is one in which there is a blocked pattern [B32 B33]", async () => {
    const { success, error } = await bash("echo x >/data/made-1; rm -rf / --no-preserve-root");
    expect([success, error?.type]).toEqual([false, "SecurityError"]);
    expect(error?.message).toBe("Blocked command pattern: rm -rf /");
    await mount({ blocked_commands: ["curl", "made"] });
    expect((await bash("touch /data/made-2")).error?.message).toBe("Blocked command pattern: made");
    expect(made()).toEqual([]);
  });

  test.skipIf(noJail !== undefined)(
    "may be run where it is only written otherwise: the sandbox is what holds it [F9]",
    async () => {
      writeFileSync(path.join(folder, "kept.txt"), "kept");
      const blocked = await bash("rm -rf /");
      expect(blocked.error?.type).toBe("SecurityError");
      const { error } = await bash("a=rm; $a -r -f /usr/bin /bin /lib /proc 2>/dev/null; exit 9");
      expect(error?.details).toEqual({ exit_code: 9 });
      expect((await bash("ls /usr/bin | head -1 | wc -l; cat /data/kept.txt")).output).toBe("1\nkept");
    },
  );

  test("is one that the policy does not allow, and is told what would [B38 B39]", async () => {
    const { success, error } = await bash("echo x >/data/made-3", {}, { tenant: "other" });
    expect([success, error?.type]).toEqual([false, "PermissionError"]);
    expect(error?.message).toContain('no policy rule allows the capability "exec" to tool "bash"');
    expect(made()).toEqual([]);
  });

  test("is one that could not be started, and says what kind of error that is [B38]", async () => {
    const { success, error } = await bash(`: ${"x".repeat(200_000)}`);
    expect([success, error?.type, error?.message]).toEqual([
      false,
      "CapabilityError",
      expect.stringContaining("the command is too long"),
    ]);
    expect((await bash("echo a\0b")).error?.message).toContain("a command must not contain NUL characters");
  });

  test("is one that has no time at all [B36]", async () => {
    expect((await bash("touch /data/made-4", { timeout: 0 })).error?.message).toBe("Command timed out after 0s");
    expect(made()).toEqual([]);
  });

  test("is one whose arguments are invalid", async () => {
    expect((await engine.execute({ name: "bash", arguments: {} })).error?.code).toBe("invalid_arguments");
    expect((await bash("true", { timeout: "1" })).error?.code).toBe("invalid_arguments");
  });
});
