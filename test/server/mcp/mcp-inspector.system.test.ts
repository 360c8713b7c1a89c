import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const TOOLS = "fixtures/tools";
const STDIO = ["node", "--no-warnings", "src/cli/main.ts", "mcp", "--tools", TOOLS];
const DEADLINE_MS = 240_000;

interface Said {
  readonly code: number;
  readonly result: unknown;
}

describe("the inspector's command line", () => {
  let engine: Engine;
  let server: Server;
  /** Where it keeps what it remembers. */
  let home: string;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "glovebox-inspector-"));
    engine = await createEngine({ workers: 1, executor: "threads", tools: [join(ROOT, TOOLS)] });
    server = await createServer(engine, { port: 0 });
  });
  afterAll(async () => {
    await server.close();
    rmSync(home, { recursive: true });
  });

  function inspect(target: readonly string[], ...args: string[]): Promise<Said> {
    const all = ["node_modules/.bin/mcp-inspector", "--cli", ...target, ...args, "--format", "json", "--quiet"];
    all.push("--connect-timeout", `${DEADLINE_MS}`);
    const env = { ...process.env, HOME: home, MCP_CATALOG_PATH: join(home, "catalog.json") };
    return new Promise((resolve, reject) => {
      execFile(process.execPath, all, { cwd: ROOT, env, timeout: DEADLINE_MS }, (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code;
        if (typeof code !== "number") return reject(new Error(`it did not end by itself: ${stderr}`));
        const { result } = stdout === "" ? {} : (JSON.parse(stdout) as { result?: unknown });
        resolve({ code, result });
      });
    });
  }

  const TARGETS: readonly (readonly [name: string, target: () => readonly string[]])[] = [
    ["stdin and stdout", () => STDIO],
    ["HTTP", () => [`${server.url}/mcp`, "--transport", "http"]],
    ["HTTP, without sessions", () => [`${server.url}/mcp`, "--transport", "http", "--protocol-era", "modern"]],
  ];

  describe.each(TARGETS)("over %s", (_name, target) => {
    test("lists the tools", { timeout: DEADLINE_MS }, async () => {
      const { code, result } = await inspect(target(), "--method", "tools/list");
      expect(code).toBe(0);
      const { tools } = result as { tools: readonly { name: string }[] };
      const names = [...engine.list().map(({ name }) => name), "read_output"];
      expect(tools.map(({ name }) => name)).toEqual(names.toSorted());
    });

    test("calls one, and gets what is structured", { timeout: DEADLINE_MS }, async () => {
      const asked = ["--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "--tool-arg", "b=3"];
      const { code, result } = await inspect(target(), ...asked);
      expect(code).toBe(0);
      expect(result).toMatchObject({ structuredContent: { sum: 5 }, content: [{ type: "text", text: '{"sum":5}' }] });
    });

    test("is told of a call that failed", { timeout: DEADLINE_MS }, async () => {
      const asked = ["--method", "tools/call", "--tool-name", "add", "--tool-args-json", '{"a":2}'];
      const { code, result } = await inspect(target(), ...asked);
      expect(code).toBe(5);
      expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("b") }] });
    });
  });
});
