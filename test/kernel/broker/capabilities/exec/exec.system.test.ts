import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolDefinition } from "../../../../../src/glovebox/index.ts";
import { processesWith } from "../../../../processes.ts";
import { noJail } from "./opened.ts";

let engine: Engine;
let folder: string;

/** Opens once what a call waits for has happened. */
const opening = Promise.withResolvers<void>();
const gate = defineCapability({ name: "gate", methods: { pass: { handler: () => opening.promise } } });

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-exec-")));
  const mounts = { "/data": { path: folder, mode: "rw" } } as const;
  engine = await createEngine({
    workers: 1,
    executor: "process",
    capabilities: [gate],
    policy: { rules: [{ tools: ["command-*"], allow: { exec: { wallMs: 20_000, mounts }, gate: true } }] },
  });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const RUN = `export default ({ command, ...more }, { host }) => host.exec.run({ command, ...more });`;
let names = 0;

async function call(args: Record<string, unknown>, more: Partial<ToolDefinition> = {}) {
  const name = more.name ?? `command-${++names}`;
  await engine.register({ description: "runs", source: RUN, capabilities: { exec: true }, ...more, name });
  return engine.execute({ name, arguments: args });
}

describe.skipIf(noJail !== undefined)(`host.exec in the executor process (${noJail ?? "in bubblewrap"})`, () => {
  test("runs a command for a tool that cannot run any itself", async () => {
    expect((await call({ command: "tr a-z A-Z; exit 2", stdin: "abc" })).output).toMatchObject({
      stdout: "ABC",
      exitCode: 2,
      timeoutMs: 20_000,
    });
  });

  test("runs a command once, also where its call is run again because its executor was lost", async () => {
    const source = `export default async (_, { host }) => {
      const { stdout } = await host.exec.run({ command: "echo once >>/data/times; cat /data/times" });
      await host.gate.pass();
      return stdout;
    }`;
    const running = call({}, { source, capabilities: { exec: true, gate: true } });
    await expect.poll(() => readFileSync(path.join(folder, "times"), "utf8")).toBe("once\n");
    // What wedges V8 itself is ended with its process.
    const wedges = "export default () => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }";
    expect((await call({}, { source: wedges, limits: { cpuMs: 20 } })).error?.code).toBe("cpu_limit");
    opening.resolve();
    const { output, metadata } = await running;
    expect([output, metadata.attempts]).toEqual(["once\n", 2]);
    expect(readFileSync(path.join(folder, "times"), "utf8")).toBe("once\n");
  });

  test("gives nobody what this process was started with: a folder's descriptor leads out of the sandbox", async () => {
    const program = fileURLToPath(new URL("../../../engine/programs/tells-descriptors.ts", import.meta.url));
    writeFileSync(path.join(folder, "private.txt"), "");
    const descriptor = openSync(folder, "r");
    // Node itself keeps the first few to itself. A shell that substitutes processes begins with this one.
    const stdio = Array.from({ length: 64 }, (_, at) => (at === 63 ? descriptor : at === 1 ? "pipe" : "ignore"));
    const child = spawn(process.execPath, ["--no-warnings", program], { stdio });
    closeSync(descriptor);
    const told = child.stdout === null ? "" : await text(child.stdout);
    expect(JSON.parse(told)).toEqual({ own: folder, output: "", holders: [] });
  });

  test("leaves nothing of a command whose host is killed, at whatever moment of its start", async () => {
    const program = fileURLToPath(new URL("../../../engine/programs/starts-command.ts", import.meta.url));
    const seconds = `${100_000 + Math.floor(Math.random() * 900_000)}.625`;
    const hosts = Array.from({ length: 12 }, async (_, at) => {
      const args = ["--no-warnings", program, seconds];
      const host = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
      await once(host.stdout, "data");
      await delay(at * 4);
      host.kill("SIGKILL");
    });
    await Promise.all(hosts);
    await expect.poll(() => processesWith(seconds), { timeout: 60_000 }).toBe(0);
  });

  test("ends a command with its call's time", async () => {
    const seconds = `${100_000 + Math.floor(Math.random() * 900_000)}.125`;
    const { error } = await call({ command: `sleep ${seconds}` }, { limits: { wallMs: 500 } });
    expect(error?.code).toBe("wall_limit");
    await expect.poll(() => processesWith(seconds)).toBe(0);
  });

  test("ends its commands with the engine", async () => {
    const seconds = `${100_000 + Math.floor(Math.random() * 900_000)}.375`;
    const other = await createEngine({
      workers: 1,
      executor: "threads",
      policy: { rules: [{ allow: { exec: true } }] },
    });
    await other.register({ name: "c", description: "runs", source: RUN, capabilities: { exec: true } });
    const running = other.execute({ name: "c", arguments: { command: `sleep ${seconds}` } });
    await expect.poll(() => processesWith(`sleep\0${seconds}`), { timeout: 60_000 }).toBe(1);
    await other.close({ drainMs: 100 });
    expect((await running).success).toBe(false);
    await expect.poll(() => processesWith(seconds)).toBe(0);
  });
});

describe("host.exec", () => {
  test("is denied where no rule allows it, and says what would", async () => {
    const { error } = await call({ command: "true" }, { name: "other" });
    expect(error?.code).toBe("capability_denied");
    expect(error?.details).toMatchObject({ capability: "exec", remedy: expect.stringContaining('"exec"') });
  });

  test("is denied to a tool that does not ask for it", async () => {
    expect((await call({ command: "true" }, { capabilities: {} })).error?.code).toBe("capability_denied");
  });

  test("takes what its schema says, and nothing else", async () => {
    for (const more of [{ timeoutMs: 0 }, { timeoutMs: "1" }, { stdin: 1 }, { shell: "/bin/bash" }]) {
      expect((await call({ command: "true", ...more })).error?.code).toBe("capability_failed");
    }
  });

  test("has a name that no capability of an embedder's can have", () => {
    const methods = { run: { handler: () => null } };
    expect(() => defineCapability({ name: "exec", methods })).toThrow("cannot be the name");
  });

  test("says of a policy that cannot be read where it cannot", async () => {
    const allow = { exec: { mounts: { "/proc": { path: folder, mode: "ro" } } } } as const;
    await expect(createEngine({ policy: { rules: [{ allow }] } })).rejects.toThrow(
      "policy.rules[0].allow.exec/mounts/~1proc: is reserved by the sandbox",
    );
  });
});
