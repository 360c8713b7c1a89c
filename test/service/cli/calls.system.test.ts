import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine } from "../../../src/index.ts";
import { createKey } from "../../../src/service/access/secret.ts";
import { createServer, type Server } from "../../../src/service/http/server.ts";

const MAIN = path.resolve(import.meta.dirname, "../../../src/service/cli/main.ts");
const [reader, caller] = [createKey(), createKey()];

let server: Server;
beforeAll(async () => {
  const engine = await createEngine({ workers: 1, executor: "threads", calls: { path: ":memory:" } });
  const source = 'export default ({ why }) => { if (why !== "") throw new Error(why); return "ok"; };';
  await engine.register({ name: "fail", description: "Fails.", source });
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: [
      { name: "reader", hash: reader.hash, tenant: null, roles: ["calls"] },
      { name: "caller", hash: caller.hash, tenant: null, roles: ["execute"] },
    ],
  });
  await engine.execute({ id: "good", name: "fail", arguments: { why: "" } });
  await engine.execute({ id: "bad", name: "fail", arguments: { why: "rain\u001b[2J" } }, { tenant: "acme" });
});
afterAll(() => server.close());

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function calls(args: readonly string[], key = reader.secret): Promise<Ended> {
  const command = ["--no-node-snapshot", "--no-warnings", MAIN, "calls", ...args, "--url", server.url];
  const env = { ...process.env, KEY: key };
  return promisify(execFile)(process.execPath, [...command, "--key-env", "KEY"], { env }).then(
    (ended) => ({ code: 0, ...ended }),
    (failed: unknown) => failed as Ended,
  );
}

test("calls list prints a line for each call, newest first, and says where to go on", async () => {
  const [all, page, json] = await Promise.all([
    calls(["list"]),
    calls(["list", "--limit", "1"]),
    calls(["list", "--code", "tool_error", "--tenant", "acme", "--json"]),
  ]);
  const [first, second, ...none] = all.stdout.trimEnd().split("\n");
  expect(first).toMatch(
    /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}bad {2}tool_error {2}fail {2}acme {2}[\d.]+ ms {2}rain\\u001b\[2J$/,
  );
  expect(second).toMatch(/ {2}good {2}ok {2}fail {2}- {2}[\d.]+ ms$/);
  expect(none).toEqual([]);
  expect(page.stdout.trimEnd().split("\n")).toHaveLength(1);
  expect(page.stderr).toMatch(/^there may be more: --cursor \d+-\d+$/m);
  expect(JSON.parse(json.stdout)).toMatchObject({ calls: [{ id: "bad", tenant: "acme" }], cursor: null });
});

test("calls show prints what was kept of a call", async () => {
  const [shown, json, missing] = await Promise.all([
    calls(["show", "bad"]),
    calls(["show", "good", "--json"]),
    calls(["show", "other"]),
  ]);
  expect(shown.stdout).toContain("code: tool_error\n");
  expect(shown.stdout).toContain('arguments: {"why":"rain\\u001b[2J"}\n');
  expect(JSON.parse(json.stdout)).toMatchObject({ format: "glovebox-call/1", id: "good", detail: null });
  expect(missing).toMatchObject({ code: 1, stdout: "" });
  expect(missing.stderr).toContain("answers with 404: it tells no call of this id");
});

test("a wrong filter and a key without the role are explained", async () => {
  const [filter, key] = await Promise.all([calls(["list", "--since", "soon"]), calls(["list"], caller.secret)]);
  expect(filter.code).toBe(3);
  expect(filter.stderr).toContain("since is a time");
  expect(key.stderr).toContain("it wants a key with the role calls");
});
