import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_ROOM } from "../../src/kernel/engine/call-options.ts";
import { RedisKeptCalls } from "../../src/fleet/kept-calls/redis-kept-calls.ts";
import { connectTo, type RedisServer, startRedis } from "../redis-server.ts";
import { rowOf } from "../kernel/store/calls/kept-row.ts";
import { glovebox } from "./command.ts";

const SECRET = "a secret of this test";
const FLEET = "doctor";

interface Check {
  readonly name: string;
  readonly state: string;
  readonly message: string;
}

/** What `doctor` says of kept calls. */
function checkCalls(url: string, secret = SECRET): Promise<Check & { readonly code: number }> {
  return checkWith({ calls: { url, secret, fleet: FLEET } });
}

async function checkWith(settings: object): Promise<Check & { readonly code: number }> {
  const folder = await mkdtemp(join(tmpdir(), "glovebox-doctor-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "glovebox.config.json"), JSON.stringify({ executor: "threads", ...settings }));
  const { code, stdout } = await glovebox(folder, ["doctor", "--json"]);
  const found = (JSON.parse(stdout) as readonly Check[]).find(({ name }) => name === "calls");
  if (found === undefined) throw new Error(`doctor says nothing of calls: ${stdout}`);
  return { ...found, code };
}

async function start(): Promise<RedisServer> {
  const server = await startRedis();
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

test("doctor says that a Redis takes and shows calls, and names what to do where it does not", async () => {
  const server = await start();
  const kept = await RedisKeptCalls.open({ url: server.url, secret: SECRET, fleet: FLEET, ...DEFAULT_ROOM });
  await kept.add(["one", "other"].map((id) => [rowOf({ id })[0], null]));
  await kept.close();
  expect(await checkCalls(server.url)).toMatchObject({ state: "ok", message: expect.stringContaining("newest 2 of") });
  expect(await checkCalls(server.url, "another secret, also long")).toMatchObject({
    state: "fail",
    code: 1,
    message: expect.stringMatching(/does not open 2 of the newest 2 calls.*the same calls\.secret/),
  });
  await using admin = await connectTo(server.url);
  // Beyond what it uses, so that it removes nothing.
  await admin.client.config("SET", "maxmemory", "32mb");
  await admin.client.config("SET", "maxmemory-policy", "allkeys-lru");
  expect(await checkCalls(server.url)).toMatchObject({
    state: "warn",
    code: 0,
    message: expect.stringMatching(/maxmemory-policy allkeys-lru.*set noeviction; .*less than calls\.maxBytes, 64 MiB/),
  });
  await admin.client.config("SET", "maxmemory-policy", "noeviction");
  await admin.client.config("SET", "maxmemory", "1");
  expect(await checkCalls(server.url)).toMatchObject({ state: "fail", message: expect.stringContaining("is full") });
});

test("doctor says that a Redis refuses the password, and that none is there", async () => {
  const server = await start();
  await using admin = await connectTo(server.url);
  await admin.client.config("SET", "requirepass", "right");
  const wrong = await checkCalls(server.url.replace("//", "//:wr0ng@"));
  expect(wrong).toMatchObject({
    state: "fail",
    message: expect.stringContaining("refused the login (WRONGPASS): check the user"),
  });
  expect(wrong.message).not.toContain("wr0ng");
  await server.stop();
  const gone = await checkCalls(server.url);
  expect(gone).toMatchObject({ state: "fail", code: 1, message: expect.stringContaining("ECONNREFUSED") });
});

test("doctor says that the state folder cannot be written", async () => {
  expect(await checkWith({ stateDir: "glovebox.config.json/state" })).toMatchObject({
    state: "warn",
    code: 0,
    message: "calls cannot be kept: the store cannot be opened: ENOTDIR",
  });
});
