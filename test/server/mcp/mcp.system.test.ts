import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { mcp } from "../../../src/standard/contracts.ts";
import type { CallEvent, Engine } from "../../../src/glovebox/index.ts";
import { createMcpServer } from "../../../src/server/mcp/server.ts";
import { rawDigits } from "../../../src/kernel/base/exact-json.ts";
import { jsonOf, unchanged } from "../../long-integers.ts";
import { openEngine } from "../../standard/contracts/engine.ts";
import { MAIN, ROOT } from "../served.ts";

const IDENTITY = { name: "glovebox", version: "1.2.3" };

describe("the official client, in memory", () => {
  let engine: Engine;
  let client: Client;
  const changes: string[][] = [];

  beforeAll(async () => {
    engine = await openEngine();
  });
  afterAll(() => engine.close());
  beforeEach(async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await createMcpServer(engine, IDENTITY).connect(ours);
    client = new Client(
      { name: "tester", version: "1.0.0" },
      {
        listChanged: {
          tools: { debounceMs: 0, onChanged: (_error, tools) => changes.push((tools ?? []).map(({ name }) => name)) },
        },
      },
    );
    await client.connect(theirs);
  });
  afterEach(() => client.close());

  test("is told who serves it", () => {
    expect(client.getServerVersion()).toMatchObject(IDENTITY);
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } });
  });

  test("lists tools with their schemas, titles and hints [B02]", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["fail", "get_weather", "text.upper", "wait"]);
    const weather = engine.get("get_weather");
    expect(tools[1]).toMatchObject({
      title: "Weather",
      description: "Current weather of a city",
      inputSchema: weather?.inputSchema,
      outputSchema: weather?.outputSchema,
      annotations: { readOnlyHint: true },
    });
    expect(tools[0]).not.toHaveProperty("annotations");
  });

  test("gets what a tool answers as text and as the value that its schema promises", async () => {
    await client.listTools();
    const result = await client.callTool({ name: "get_weather", arguments: { city: "Oslo" } });
    expect(result.structuredContent).toEqual({ city: "Oslo", temperature: 4 });
    expect(result.content).toEqual([{ type: "text", text: '{"city":"Oslo","temperature":4}' }]);
    expect(result.isError ?? false).toBe(false);
    expect(mcp.readResult(result)).toEqual({ ok: true, output: { city: "Oslo", temperature: 4 } });
  });

  test("gets a text that a schema promises as what is structured as well", async () => {
    await client.listTools();
    const result = await client.callTool({ name: "text.upper", arguments: { text: "ab" } });
    expect(result.content).toEqual([{ type: "text", text: "AB" }]);
    expect(JSON.stringify(result.structuredContent)).toContain("AB");
  });

  test("gets the failure of a tool as a result [E42]", async () => {
    const result = await client.callTool({ name: "fail", arguments: {} });
    expect(result.isError).toBe(true);
    expect(result.content).toEqual([{ type: "text", text: "there is no such place" }]);
    expect(mcp.readResult(result)).toMatchObject({ ok: false, error: { type: "RangeError", code: "tool_error" } });
  });

  test("gets arguments that break the schema as a result that says how", async () => {
    const result = await client.callTool({ name: "get_weather", arguments: { town: "Oslo" } });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("/city") }] });
  });

  test("gets an error of the protocol for a tool that there is not", async () => {
    await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining("Unknown tool: nothing"),
    });
  });

  test("cancels the call of a request that it aborts", async () => {
    const controller = new AbortController();
    const ended = Promise.withResolvers<CallEvent>();
    const abort = (): void => controller.abort();
    engine.on("tool:pre", abort).on("tool:error", ended.resolve);
    await expect(client.callTool({ name: "wait", arguments: {} }, { signal: controller.signal })).rejects.toThrow();
    expect((await ended.promise).result.error?.code).toBe("cancelled");
    engine.off("tool:pre", abort).off("tool:error", ended.resolve);
  });

  test("has many tools in pages, each once, in the order of their names", async () => {
    const names = Array.from({ length: 105 }, (_, at) => `z${String(at).padStart(3, "0")}`);
    for (const name of names)
      await engine.register({ name, description: "One of many", source: "export default () => 1" });
    const first = await client.request({ method: "tools/list" });
    expect(first.tools).toHaveLength(100);
    const second = await client.request({ method: "tools/list", params: { cursor: first.nextCursor ?? "" } });
    expect(second.tools).toHaveLength(9);
    expect((await client.listTools()).tools.map(({ name }) => name).slice(4)).toEqual(names);
    await expect(client.listTools({ cursor: "!" })).rejects.toMatchObject({ code: -32_602 });
    for (const name of names) await engine.unregister(name);
  });

  test("is told when tools come and go", async () => {
    await client.listTools();
    changes.length = 0;
    await engine.register({ name: "new_one", description: "Is new", source: "export default () => 1" });
    await expect.poll(() => changes.at(-1)).toContain("new_one");
    await engine.unregister("new_one");
    await expect.poll(() => changes.at(-1)).not.toContain("new_one");
  });
});

describe("glovebox mcp", () => {
  let folder: string;
  const argsOf = (tools: string) => [...MAIN, "mcp", "--tools", tools];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "glovebox-mcp-"));
    writeFileSync(
      join(folder, "shout.ts"),
      `export const spec = { name: "shout", description: "Says it loudly." };
       export default ({ text }: { text: string }) => { console.log("not for stdout"); return { text: text.toUpperCase() }; };`,
    );
    writeFileSync(
      join(folder, "echo.js"),
      `export const spec = { name: "echo", description: "Gives its input back." };\nexport default (input) => input;`,
    );
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each(["legacy", "auto"] as const)(
    "has its tools listed and called by the official client (%s)",
    async (mode) => {
      const args = argsOf(folder);
      const transport = new StdioClientTransport({ command: process.execPath, args, cwd: ROOT, stderr: "pipe" });
      const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode } });
      const problems: Error[] = [];
      client.onerror = (error) => problems.push(error);
      try {
        await client.connect(transport);
        expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "read_output", "shout"]);
        const answers = await Promise.all(
          ["a", "b", "c"].map((text) => client.callTool({ name: "shout", arguments: { text } })),
        );
        expect(answers.map(({ structuredContent }) => structuredContent)).toEqual([
          { text: "A" },
          { text: "B" },
          { text: "C" },
        ]);
        expect(problems).toEqual([]);
      } finally {
        await client.close();
      }
    },
  );

  describe.each(["legacy", "auto"] as const)("as the official client hears it (%s)", (mode) => {
    let client: Client;
    let climbs: string;
    const logs: unknown[] = [];
    const told: unknown[] = [];

    beforeAll(async () => {
      climbs = mkdtempSync(join(tmpdir(), "glovebox-mcp-"));
      writeFileSync(
        join(climbs, "climb.js"),
        `export const spec = { name: "climb", description: "Climbs some steps, and says so." };
         export default async ({ steps }, { progress }) => {
           for (let step = 1; step <= steps; step++) {
             console.warn("at", step);
             progress(step, steps);
             await new Promise((done) => setTimeout(done, 60));
           }
           return steps;
         };`,
      );
      const args = argsOf(climbs);
      client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode } });
      client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params));
      const transport = new StdioClientTransport({ command: process.execPath, args, cwd: ROOT, stderr: "ignore" });
      await client.connect(transport);
      const { onmessage } = transport;
      // The client forgets what is told of a call that it reads together with its result.
      transport.onmessage = (message) => {
        if ("method" in message && message.method === "notifications/progress") told.push(message.params);
        onmessage?.(message);
      };
    });
    afterAll(async () => {
      await client.close();
      rmSync(climbs, { recursive: true });
    });

    test("a call tells how far it has come", async () => {
      await client.callTool({ name: "climb", arguments: { steps: 2 } }, { onprogress: () => undefined });
      expect(told).toMatchObject([
        { progress: 1, total: 2 },
        { progress: 2, total: 2 },
      ]);
      expect(logs).toEqual([]);
    });

    test("a call that is cancelled leaves room for the next", async () => {
      const abort = new AbortController();
      const onprogress = (): void => abort.abort();
      const climb = { name: "climb", arguments: { steps: 1_000 } };
      await expect(client.callTool(climb, { onprogress, signal: abort.signal })).rejects.toThrow();
      const { content } = await client.callTool({ name: "climb", arguments: { steps: 1 } });
      expect(content).toEqual([{ type: "text", text: "1" }]);
    });

    test("a tool's lines are told where they are asked for", async () => {
      if (mode === "legacy") await client.setLoggingLevel("warning");
      const meta = mode === "legacy" ? {} : { _meta: { "io.modelcontextprotocol/logLevel": "warning" } };
      await client.callTool({ name: "climb", arguments: { steps: 1 }, ...meta });
      expect(logs).toEqual([{ level: "warning", logger: "climb", data: "at 1" }]);
    });
  });

  test.each([
    ["tools", [], ["first", "read_output"], ["first", "read_output", "second"]],
    ["programs", ["--code"], ["run_code", "search_tools"], ["run_code", "search_tools"]],
  ])(
    "tells its client, for %s, of tools that come while it watches",
    { timeout: 120_000 },
    async (_what, code, before, after) => {
      const watched = mkdtempSync(join(tmpdir(), "glovebox-watched-"));
      onTestFinished(() => rmSync(watched, { recursive: true }));
      const write = (name: string): void =>
        writeFileSync(
          join(watched, `${name}.js`),
          `export const spec = { description: "A." }; export default () => 1;`,
        );
      write("first");
      const args = [...argsOf(watched), "--watch", ...code];
      const transport = new StdioClientTransport({ command: process.execPath, args, cwd: ROOT, stderr: "pipe" });
      let log = "";
      transport.stderr?.on("data", (text: Buffer) => (log += String(text)));
      const changes: string[][] = [];
      const onChanged = (_error: unknown, tools: readonly { name: string }[] | null): void => {
        changes.push((tools ?? []).map(({ name }) => name));
      };
      const client = new Client(IDENTITY, { listChanged: { tools: { debounceMs: 0, onChanged } } });
      await client.connect(transport);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(before);
      write("second");
      await expect.poll(() => changes.at(-1), { timeout: 100_000 }).toEqual(after);
      await client.close();
      expect(log).not.toContain("restart");
    },
  );

  describe("by hand", () => {
    let child: ChildProcessByStdio<Writable, Readable, null>;
    let lines: AsyncIterator<string>;
    const send = (message: object): unknown => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const receiveText = async (): Promise<string> => String((await lines.next()).value);
    const receive = async (): Promise<unknown> => JSON.parse(await receiveText());

    beforeEach(async () => {
      child = spawn(process.execPath, argsOf(folder), { cwd: ROOT, stdio: ["pipe", "pipe", "ignore"] });
      lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const clientInfo = { name: "tester", version: "1.0.0" };
      send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
      expect(await receive()).toMatchObject({ id: 1, result: { serverInfo: { name: "glovebox" } } });
      send({ method: "notifications/initialized" });
    });
    afterEach(() => child.kill("SIGKILL"));

    test("goes on after lines that are no messages", async () => {
      child.stdin.write('garbage\n{"jsonrpc":"2.0"}\n[]\n');
      send({ id: 2, method: "tools/call", params: { name: "shout", arguments: { text: "a" } } });
      expect(await receive()).toMatchObject({ id: 2, result: { structuredContent: { text: "A" } } });
    });

    test(
      "gets and gives integers of any length with their digits",
      unchanged(async (ids) => {
        const args = { ids: ids.map((id) => rawDigits(`${id}`)) };
        send({ id: 2, method: "tools/call", params: { name: "echo", arguments: args } });
        const answered = await receiveText();
        expect(answered).toContain(`"structuredContent":${jsonOf(ids)}`);
        expect(answered).toContain(JSON.stringify(jsonOf(ids)).slice(1, -1));
      }),
    );

    test("ends with its client", async () => {
      const ended = once(child, "exit");
      child.stdin.end();
      expect(await ended).toEqual([0, null]);
    });

    test("ends on a signal", async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);
    });

    test("ends at a message that has no end", async () => {
      const ended = once(child, "exit");
      child.stdin.on("error", () => undefined);
      child.stdin.write("x".repeat(11 * 1024 * 1024));
      expect(await ended).toEqual([0, null]);
    });
  });
});
