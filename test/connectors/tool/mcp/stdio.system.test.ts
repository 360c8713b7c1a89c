import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { processesWith } from "../../../processes.ts";
import { command, failureOf, noJail, opened, program, resultOf, textOf } from "./opened.ts";

/** A number that no other process of the machine has on its command line. */
const mark = (): string => `${1_000_000_000 + Math.floor(Math.random() * 1_000_000_000)}`;

function folder(): string {
  const made = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-mcp-")));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

describe.skipIf(noJail !== undefined)(`a server in a sandbox (${noJail ?? "in bubblewrap"})`, () => {
  test.for([
    ["v1", [], "2025-11-25"],
    ["v2", [], "2026-07-28"],
    ["v2", ["modern"], "2026-07-28"],
  ] as const)("of the SDK %s with %j speaks %s, lists its tools and answers calls", async ([name, args, protocol]) => {
    const { session, tools, call } = opened(program(name, { args }));
    const [echo, add] = await tools();
    expect(session.state).toMatchObject({ kind: "up", peer: { name, protocol } });
    expect(echo).toMatchObject({
      name: "echo",
      description: "Says it again.",
      inputSchema: { type: "object", required: ["text"] },
      operation: { kind: "mcp", connector: "c", tool: "echo", isTyped: false, isRead: false },
    });
    expect(add).toMatchObject({ name: "add", outputSchema: { type: "object" }, operation: { isTyped: true } });
    expect(resultOf(await call("echo", { text: "hé\n😀" }))).toMatchObject({
      content: [{ type: "text", text: "hé\n😀" }],
    });
    expect(resultOf(await call("add", { a: 1, b: 2 }))).toMatchObject({ structuredContent: { sum: 3 } });
  });

  test("answers many calls side by side, each its own", async () => {
    const { call } = opened(program("v1"));
    const texts = Array.from({ length: 50 }, (_, at) => `${at}`);
    expect(await Promise.all(texts.map(async (text) => textOf(await call("echo", { text }))))).toEqual(texts);
  });

  test("that is trusted says which of its tools only read", async () => {
    const { tools } = opened(program("v1"), { trustAnnotations: true });
    const [echo, add] = await tools();
    expect(echo).toMatchObject({ annotations: { readOnly: true }, operation: { isRead: true, isRepeatable: true } });
    expect(add).toMatchObject({ annotations: {}, operation: { isRead: false, isRepeatable: false } });
    const [untrusted] = await opened(program("v1")).tools();
    expect(untrusted).toMatchObject({ annotations: {}, operation: { isRead: false } });
  });

  test("has nothing of this process's environment, and what it is given", async () => {
    process.env["GLOVEBOX_TEST_LEAK"] = "leaked";
    onTestFinished(() => void delete process.env["GLOVEBOX_TEST_LEAK"]);
    const { call } = opened(program("v1", { env: { GIVEN: "yes" } }));
    const environment = JSON.parse(textOf(await call("environment"))) as Record<string, string>;
    expect(environment).toEqual({
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: "/home",
      LANG: "C.UTF-8",
      PWD: "/home",
      NODE_NO_WARNINGS: "1",
      GIVEN: "yes",
    });
  });

  test("sees the folders that it is given, and writes where that is granted", async () => {
    const [given, writable, hidden] = [folder(), folder(), folder()];
    writeFileSync(path.join(given, "a"), "in");
    writeFileSync(path.join(hidden, "b"), "in");
    const folders = { "/data": { path: given, mode: "ro" }, [writable]: { path: writable, mode: "rw" } } as const;
    const script = `cat /data/a > ${writable}/seen; cat ${hidden}/b >> ${writable}/seen; echo x > /data/c; exit 0`;
    const { session } = opened(command("sh", { args: ["-c", script], folders, cwd: "/data" }));
    await session.list();
    expect(readFileSync(path.join(writable, "seen"), "utf8")).toBe("in");
    expect(() => readFileSync(path.join(given, "c"))).toThrow("ENOENT");
  });

  test("has no network where it is given none, and this machine's where it is", async () => {
    const seen = async (network: boolean): Promise<string> => {
      const out = folder();
      const args = ["-c", `cat /proc/net/dev > ${out}/dev`];
      await opened(command("sh", { args, network, folders: { [out]: { path: out, mode: "rw" } } })).session.list();
      return readFileSync(path.join(out, "dev"), "utf8");
    };
    const names = (devices: string): readonly string[] =>
      [...devices.matchAll(/^\s*([\w@-]+):/gm)].map(([, name = ""]) => name).toSorted();
    expect(names(await seen(false))).toEqual(["lo"]);
    expect(names(await seen(true))).toEqual(names(readFileSync("/proc/net/dev", "utf8")));
  });

  test("ends with the session, with all that it has started, also where it ignores signals and its input's end", async () => {
    const seconds = mark();
    const script = `trap '' TERM INT HUP; (setsid sleep ${seconds} &); sleep ${seconds}`;
    const { session } = opened(command("sh", { args: ["-c", script] }));
    await expect.poll(() => processesWith(`sleep\0${seconds}`), { timeout: 60_000 }).toBe(2);
    await session.close();
    expect(await processesWith(seconds)).toBe(0);
  });

  test("that ends in a call fails it with the reason, and is started again", async () => {
    const { session, call, states } = opened(program("v1"), { limits: { backoffMinMs: 100 } });
    expect(failureOf(await call("exit"))).toEqual({
      message: "it ended with exit code 7",
      isTransient: true,
      isSent: true,
    });
    await expect.poll(() => session.state.kind, { timeout: 60_000 }).toBe("up");
    expect(states.map(({ kind }) => kind)).toEqual(["connecting", "up", "down", "connecting", "up"]);
    expect(textOf(await call("echo", { text: "again" }))).toBe("again");
  });

  test("that ends again and again is started after delays that double", async () => {
    const { session, states } = opened(program("hostile", { args: ["at-once"] }), {
      limits: { backoffMinMs: 20, backoffMaxMs: 70 },
    });
    const delays = (): readonly number[] => states.flatMap((state) => (state.kind === "down" ? [state.retryInMs] : []));
    await expect.poll(() => delays().length, { timeout: 60_000 }).toBeGreaterThan(3);
    expect(delays().slice(0, 4)).toEqual([20, 40, 70, 70]);
    expect(session.state.kind).not.toBe("up");
  });

  test("that is down fails calls at once, and tells when it is tried again", async () => {
    const { session, call } = opened(command("no-such-program-here"), { limits: { backoffMinMs: 60_000 } });
    const first = await call("echo");
    expect(failureOf(first)).toMatchObject({ isTransient: true, isSent: false });
    expect(session.state).toMatchObject({
      kind: "down",
      failure: { detail: expect.stringContaining("no-such-program-here") as string },
    });
    const second = await call("echo");
    expect(second).toMatchObject({
      failure: { message: expect.stringMatching(/^it is down: it ended with exit code 127/) as string },
    });
    expect(second.kind === "failed" && (second.failure.retryAfterMs ?? 0) > 50_000).toBe(true);
  });

  test("that knows nothing of newer revisions and ends when it is asked is asked in the old way", async () => {
    const { session, call } = opened(program("hostile", { args: ["dies-of-new"] }));
    expect(textOf(await call("t"))).toBe("ok");
    expect(session.state).toMatchObject({ peer: { protocol: "2025-11-25" } });
  });

  test("may print other lines on its stdout", async () => {
    expect(textOf(await opened(program("hostile", { args: ["chatter"] })).call("t"))).toBe("ok");
  });

  test("tells of a changed list, in both families of revisions", async () => {
    for (const name of ["v1", "v2"] as const) {
      const { tools, call, changes } = opened(program(name));
      const before = (await tools()).length;
      await call("grow");
      await expect.poll(changes).toBeGreaterThan(0);
      expect((await tools()).length).toBe(before + 1);
    }
  });

  test("is told that a call was cancelled", async () => {
    const { call } = opened(program("v1"));
    await call("echo", { text: "" });
    const abort = new AbortController();
    const waiting = call("wait", { ms: 60_000 }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 200);
    expect(failureOf(await waiting)).toMatchObject({ message: "the call has ended" });
    await expect.poll(async () => textOf(await call("cancelled"))).toBe('["wait"]');
    expect(failureOf(await call("wait", { ms: 60_000 }, { timeoutMs: 300 }))).toEqual({
      message: expect.stringMatching(/^it did not answer within \d+ ms$/) as string,
      isTransient: true,
      isSent: true,
    });
    await expect.poll(async () => textOf(await call("cancelled"))).toBe('["wait","wait"]');
  });

  test("that asks a person is declined, and is offered neither sampling nor roots", async () => {
    const { call } = opened(program("v1"));
    expect(textOf(await call("ask"))).toMatch(/does not support/);
  });
});

describe("a server without a sandbox", () => {
  test("is what the operator chooses, and has a scrubbed environment as well", async () => {
    process.env["GLOVEBOX_TEST_LEAK"] = "leaked";
    onTestFinished(() => void delete process.env["GLOVEBOX_TEST_LEAK"]);
    const { call } = opened(program("v1", { sandbox: "off", env: { GIVEN: "yes" } }));
    const environment = JSON.parse(textOf(await call("environment"))) as Record<string, string>;
    expect(environment).toMatchObject({ GIVEN: "yes", LANG: "C.UTF-8" });
    expect(environment).not.toHaveProperty("GLOVEBOX_TEST_LEAK");
  });

  test("ends as a group with the session, also where it ignores signals", async () => {
    const seconds = mark();
    const script = `trap '' TERM INT HUP; sleep ${seconds} & sleep ${seconds}`;
    const { session } = opened(command("sh", { args: ["-c", script], sandbox: "off" }));
    await expect.poll(() => processesWith(`sleep\0${seconds}`), { timeout: 60_000 }).toBe(2);
    await session.close();
    await expect.poll(() => processesWith(`sleep\0${seconds}`), { timeout: 60_000 }).toBe(0);
  });

  test("leaves nothing of its group behind when it ends by itself", async () => {
    const seconds = mark();
    const { session } = opened(command("sh", { args: ["-c", `sleep ${seconds} & exit 0`], sandbox: "off" }));
    await session.list();
    await expect.poll(() => processesWith(`sleep\0${seconds}`), { timeout: 60_000 }).toBe(0);
  });
});

test("a host without bubblewrap refuses a server in a sandbox, with the remedy", async () => {
  const { startServer } = await import("../../../../src/connectors/tool/mcp/server-process.ts");
  const { MCP_LIMITS } = await import("../../../../src/connectors/tool/mcp/limits.ts");
  const server = command("sh");
  if (server.kind !== "stdio") throw new TypeError("it is a process");
  const refused = startServer(server, new Map(), MCP_LIMITS, () =>
    Promise.resolve({ reason: "bubblewrap is not installed" }),
  );
  await expect(refused).rejects.toMatchObject({
    message: "its command cannot run on this host: bubblewrap is not installed",
    failure: { isSent: false, detail: expect.stringContaining('sandbox: "off"') as string },
  });
});
