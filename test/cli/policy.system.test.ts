import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine } from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import { glovebox, ROOT } from "./command.ts";

const key = createKey();
const folder = mkdtempSync(path.join(tmpdir(), "glovebox-policy-"));

let server: Server;
beforeAll(async () => {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    calls: { path: ":memory:", keep: "everything" },
    tools: [
      {
        name: "keep",
        description: "Keeps a value.",
        source: 'export default (_input, { host }) => host.kv.set("a", 1);',
        capabilities: { kv: true },
      },
    ],
    policy: { rules: [{ allow: { kv: true } }] },
  });
  const keys = [{ name: "operator", hash: key.hash, tenant: null, roles: ["admin", "calls"] as const }];
  server = await createServer(engine, { port: 0, drainMs: 100, keys });
  await engine.execute({ id: "one", name: "keep", arguments: {} });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function simulate(policy: string, ...more: readonly string[]) {
  const file = path.join(folder, "policy.yaml");
  writeFileSync(file, policy);
  const args = ["policy", "simulate", file, "--url", server.url, "--key-env", "KEY", ...more];
  const { code, stdout } = await glovebox(ROOT, args, { KEY: key.secret });
  return { code, lines: stdout.trimEnd().split("\n") };
}

test("policy simulate prints findings, grants and changes, and ends with 3 where the policy has a mistake", async () => {
  const same = await simulate("rules:\n  - allow: { kv: true }\n", "--tool", "keep");
  const other = await simulate("rules:\n  - tools: [other]\n    allow: { kv: true }\n", "--call", "one");
  const wrong = await simulate("rules:\n  - tool: [keep]\n    allow: { kv: true }\n");
  expect(same.lines).toEqual([
    expect.stringMatching(/^granted {2}kv {2}.* {2}\(policy\.rules\[0\]\)$/),
    "0 changes in 1 stored calls",
  ]);
  expect(other.lines).toContain("denied  kv.set  a  was ok");
  expect(other.lines).toContain("ok -> denied  one  keep  -  kv  a  (policy.rules[0])");
  const json = await simulate("rules:\n  - allow: { kv: true }\n", "--tool", "keep", "--json");
  expect(JSON.parse(json.lines.join("\n"))).toMatchObject({ grants: [{ capability: "kv" }], changes: [] });
  expect([same.code, other.code, wrong.code]).toEqual([0, 0, 3]);
  expect(wrong.lines[0]).toMatch(/policy\.yaml:2:\d+ {2}policy\.rules\[0\]\.tool is not one of/);
});
