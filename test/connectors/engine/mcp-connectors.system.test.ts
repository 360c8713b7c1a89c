import path from "node:path";
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import { createEngine, type EngineOptions } from "../../../src/glovebox/index.ts";
import { noJail } from "../tool/mcp/opened.ts";
import { serve, v1Sessions, v2Requests } from "../tool/mcp/programs/http.ts";

const ROOT = realpathSync(fileURLToPath(new URL("../../..", import.meta.url)));
const PROGRAMS = path.join(ROOT, "test/connectors/tool/mcp/programs");

/** A server of this repository's programs, as a process. */
function stdio(name: string, ...args: readonly string[]): NonNullable<EngineOptions["connectors"]>[string] {
  const node = path.dirname(process.execPath);
  const folders = Object.fromEntries([ROOT, node].map((each) => [each, { path: each, mode: "ro" as const }]));
  const program = [path.join(PROGRAMS, `${name}.ts`), ...args];
  return { mcp: { command: process.execPath, args: program, env: { NODE_NO_WARNINGS: "1" }, folders } };
}

const BASE = { workers: 1, executor: "threads" } as const;
test.skipIf(noJail !== undefined)(
  "a program calls tools of MCP servers over stdio and Streamable HTTP, of both families of revisions",
  { timeout: 120_000 },
  async () => {
    const [old, current] = await Promise.all([serve(v1Sessions()), serve(v2Requests("reject"))]);
    const connectors = {
      stdio1: stdio("v1"),
      stdio2: stdio("v2", "modern"),
      http1: { mcp: { url: old.url } },
      http2: { mcp: { url: current.url } },
    };
    const policy = { rules: [{ allow: { connector: Object.keys(connectors) } }] };
    await using engine = await createEngine({ ...BASE, connectors, policy });
    await expect
      .poll(() => engine.connectors().filter(({ state }) => state === "up").length, { timeout: 60_000 })
      .toBe(4);
    const code = `
      const said = [];
      for (const name of ["stdio1", "stdio2", "http1", "http2"]) {
        said.push(await tools[name].echo({ text: name }), (await tools[name].add({ a: 1, b: 2 })).sum);
      }
      return said;`;
    const { output, error } = await codeMode(engine).execute({ name: "run_code", arguments: { code } });
    expect(error).toBeNull();
    expect(output).toMatchObject({ result: ["stdio1", 3, "stdio2", 3, "http1", 3, "http2", 3] });
    const { findings, grants } = engine.explain("http1.echo") ?? {};
    expect([findings, grants]).toMatchObject([[], [{ capability: "connector", from: "policy.rules[0]" }]]);
  },
);
