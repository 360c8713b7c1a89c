import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type AuditEntry,
  createEngine,
  defineCapability,
  type Engine,
  type EngineOptions,
} from "../../../../src/glovebox/index.ts";
import { runProgram } from "../program.ts";
import { temporaryFolder } from "../../tool/temporary.ts";

const notes = defineCapability({
  name: "notes",
  methods: {
    add: { handler: (text: string) => text.length },
    fail: {
      handler: () => {
        throw new Error("no paper");
      },
    },
  },
});

/** An engine whose tool `asks` evaluates what it is given, and whose tool `parent` calls another one. */
async function open(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    capabilities: [notes],
    policy: {
      rules: [
        { tools: ["other"], allow: {} },
        { tools: ["asks", "parent"], allow: { notes: true, tools: ["asks"] } },
      ],
    },
    ...options,
  });
  onTestFinished(() => engine.close());
  const asks = `export default async ({ method, text, times = 1 }, { host }) => {
    for (let at = 0; at < times; at++) await host.notes[method](text);
  };`;
  const capabilities = { notes: true, tools: ["asks"] };
  for (const name of ["asks", "stranger"]) {
    await engine.register({ name, description: "asks", source: asks, capabilities });
  }
  const parent = 'export default (input, { host }) => host.tools.call("asks", input);';
  await engine.register({ name: "parent", description: "calls", source: parent, capabilities });
  return engine;
}

const entriesOf = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AuditEntry);

const ADD = { method: "add", text: "five!" };

describe("the audit of an engine", () => {
  test("has an entry for each thing that tools asked for, granted or not", async () => {
    const path = join(await temporaryFolder(), "audit.jsonl");
    const engine = await open({ audit: path });
    await engine.execute({ id: "1", name: "asks", arguments: { ...ADD, times: 2 } }, { tenant: "acme" });
    await engine.execute({ id: "2", name: "asks", arguments: { method: "fail" } });
    await engine.execute({ id: "3", name: "stranger", arguments: ADD });
    await engine.execute({ id: "4", name: "asks", arguments: ADD }, { capabilities: {} });
    await engine.close();
    const who = { capability: "notes", tool: "asks", tenant: "", step: 1, rules: [1], decision: "granted" };
    expect(entriesOf(path)).toMatchObject([
      { ...who, callId: "1", tenant: "acme", method: "add", outcome: "ok", argsLength: 7, answerLength: 1 },
      { ...who, callId: "1", tenant: "acme", method: "add", outcome: "ok", step: 2 },
      { ...who, callId: "2", method: "fail", outcome: "failed", argsLength: 4 },
      { ...who, callId: "3", tool: "stranger", outcome: "denied", decision: "denied", rules: [] },
      { ...who, callId: "4", outcome: "denied", decision: "denied", rules: [] },
    ]);
    expect(entriesOf(path)[0]?.argsHash).toBe(createHash("sha256").update('"five!"').digest("hex"));
  });

  test("tells on whose behalf a call was made", async () => {
    const entries: AuditEntry[] = [];
    const engine = await open({ audit: (entry) => void ("capability" in entry && entries.push(entry)) });
    await engine.execute({ id: "above", name: "parent", arguments: ADD });
    await engine.close();
    expect(entries).toMatchObject([
      { tool: "asks", parentId: "above", capability: "notes" },
      { callId: "above", tool: "parent", capability: "tools", method: "call" },
    ]);
    expect(entries[1]).not.toHaveProperty("parentId");
    expect(entries[0]?.callId).not.toBe("above");
  });

  test("holds no call up where nothing can be written, and says what it lost in events and metrics", async () => {
    const engine = await open({ audit: "/dev/full" });
    let dropped = 0;
    engine.on("audit:drop", (drop) => (dropped += drop.dropped));
    const result = await engine.execute({ name: "asks", arguments: { ...ADD, times: 50 } });
    expect(result.error).toBeNull();
    await engine.close();
    expect(dropped).toBe(50);
    expect(await engine.metrics()).toContain("glovebox_audit_dropped_total 50\n");
  });

  test("lets an engine close whose pipe nobody reads", async () => {
    const path = join(await temporaryFolder(), "pipe");
    execFileSync("sh", ["-c", 'mkfifo "$0"', path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(reader));
    const engine = await open({ audit: path, limits: { capabilityCalls: 1_000 } });
    const calls = Array.from({ length: 5 }, () => engine.execute({ name: "asks", arguments: { ...ADD, times: 200 } }));
    for (const { error } of await Promise.all(calls)) expect(error).toBeNull();
    await engine.close();
    expect(engine.stats().state).toBe("closed");
  });

  test("harms no call where its function throws", async () => {
    const engine = await open({
      audit: () => {
        throw new Error("no");
      },
    });
    expect((await engine.execute({ name: "asks", arguments: ADD })).error).toBeNull();
    await expect.poll(async () => engine.metrics()).toContain("glovebox_audit_dropped_total 1\n");
  });
});

test("an engine does not start where its audit cannot be written, and leaves nothing behind", async () => {
  const { stdout, stderr, code } = await runProgram("audits-nowhere", [
    join(await temporaryFolder(), "no", "audit.jsonl"),
  ]);
  expect({ stdout: stdout.trim(), stderr, code }).toEqual({
    stdout: "TypeError: the audit file cannot be opened: ENOENT",
    stderr: "",
    code: 0,
  });
});
