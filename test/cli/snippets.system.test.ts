import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeMode } from "../../src/code-mode/index.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import { glovebox, ROOT } from "./command.ts";

const key = createKey();
const folder = mkdtempSync(path.join(tmpdir(), "glovebox-snippets-"));

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    codeMode: { typeCheck: "off" },
    calls: { path: ":memory:", keep: "everything" },
    tools: [{ name: "greet", description: "Greets.", source: "export default ({ name }) => `Hello, ${name}!`;" }],
  });
  const keys = [{ name: "operator", hash: key.hash, tenant: null, roles: ["admin", "calls"] as const }];
  server = await createServer(engine, { port: 0, drainMs: 100, keys });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

function snippets(...args: readonly string[]) {
  const line = ["snippets", ...args, "--url", server.url, "--key-env", "KEY", "--tenant", "acme"];
  return glovebox(ROOT, line, { KEY: key.secret });
}

test("snippets save, list, show and delete are those of a server, and say what is wrong with a program", async () => {
  const [file, other] = ["pair.ts", "other.ts"].map((name) => path.join(folder, name)) as [string, string];
  writeFileSync(file, "const name: string = 'Ada';\nreturn tools.greet({ name });\n");
  const saved = await snippets("save", "pair", file, "--description", "Greets Ada.");
  expect(saved.stdout).toMatch(/^snippets\.pair {2}[0-9a-f]{12} {2}greet {2}Greets Ada\.\n$/);
  expect((await snippets("list")).stdout).toBe(saved.stdout);
  expect((await snippets("show", "pair")).stdout).toContain("const name: string = 'Ada';");
  expect(JSON.parse((await snippets("show", "pair", "--json")).stdout)).toMatchObject({
    tenant: "acme",
    tools: ["greet"],
  });
  writeFileSync(file, "return (");
  writeFileSync(other, "return 1;");
  expect(await snippets("save", "pair", file, "--description", "Greets.")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("1 mistake"),
  });
  expect(await snippets("save", "pair", "--description", "Greets.")).toMatchObject({ code: 2 });
  expect((await snippets("delete", "pair")).stderr).toBe("snippets.pair is deleted\n");
  await snippets("save", "pair", other, "--description", "Greets.");
  expect(JSON.parse((await snippets("delete", "pair", "--json")).stdout)).toEqual({ name: "pair", removed: true });
  expect(await snippets("show", "pair")).toMatchObject({ code: 1, stderr: expect.stringContaining("such snippet") });
});

test("snippets save takes the program of a kept call, and tells what its input and output are like", async () => {
  const { metadata } = await codeMode(engine, { tenant: "acme" }).run("return input.n;", { input: { n: 1 } });
  const saved = await snippets("save", "kept", "--call", metadata.callId, "--description", "Gives n.", "--json");
  const inferred = { inferredOutputSchema: { type: "number" }, isInferred: true };
  expect(JSON.parse(saved.stdout)).toMatchObject({ name: "kept", outputSchema: null, ...inferred });
  expect(JSON.parse((await snippets("list", "--json")).stdout)).toMatchObject([{ name: "kept", ...inferred }]);
});
