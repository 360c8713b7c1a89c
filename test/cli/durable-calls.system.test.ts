import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine } from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import { MAIN } from "../server/served.ts";
import { type Ended, glovebox as run } from "./command.ts";

const KEYS = { boss: createKey(), caller: createKey() };
const REFUND = `export const spec = { name: "refund", description: "Refunds.", approval: "always" };
export default ({ order }) => ({ refunded: order });
`;
const PLAIN = `export const spec = { name: "plain", description: "Plain." };\nexport default () => 1;\n`;

let folder: string;
let engine: Engine;
let server: Server;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "glovebox-waits-"));
  await mkdir(path.join(folder, "tools"));
  await writeFile(path.join(folder, "tools", "refund.js"), REFUND);
  await writeFile(path.join(folder, "tools", "plain.js"), PLAIN);
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: { rules: [{ allow: { pause: true, tools: ["mail", "post"] } }] },
  });
  await engine.register(path.join(folder, "tools"));
  const source = "export default (_, { host }) => host.pause.signal({ name: 'payment' });";
  await engine.register({ name: "wait", description: "Waits.", source, capabilities: { pause: true } });
  const mail = "export default ({ to = 'nobody' }) => ({ to, id: 7 });";
  await engine.register({ name: "mail", description: "Writes.", source: mail, undo: { tool: "mail", arguments: {} } });
  const calling = "export default (_, { host }) => host.tools.call('mail', { to: 'ada' });";
  await engine.register({ name: "tell", description: "Tells.", source: calling, capabilities: { tools: ["mail"] } });
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: [
      { name: "boss", hash: KEYS.boss.hash, tenant: null, roles: ["approve"] },
      { name: "caller", hash: KEYS.caller.hash, tenant: null, roles: ["execute", "approve"] },
    ],
  });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const glovebox = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> => run(folder, args, env);

function calls(args: readonly string[], key: keyof typeof KEYS = "boss"): Promise<Ended> {
  return glovebox(["calls", ...args, "--url", server.url, "--key-env", "KEY"], { KEY: KEYS[key].secret });
}

async function paused(name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { error } = await engine.execute({ name, arguments: args }, { origin: { surface: "http", key: "caller" } });
  return error?.code === "paused" ? (error.details?.id ?? "") : "";
}

test("calls list and show print what waits, and on what", async () => {
  const id = await paused("refund", { order: "1\u001b[2J" });
  const [listed, shown, wrong] = await Promise.all([
    calls(["list", "--state", "paused", "--tool", "refund"]),
    calls(["show", id]),
    calls(["list", "--state", "asleep"]),
  ]);
  expect(listed.stdout).toContain(`${id}  paused  refund  -  approval of refund: the tool asks for it (tool)\n`);
  expect(shown.stdout).toContain('  arguments: {"order":"1\\u001b[2J"}\n');
  expect(shown.stdout).toMatch(/^ {2}digest: [0-9a-f]{64}$/m);
  expect(wrong.code).toBe(2);
});

test("calls show prints what a call has done, and calls list --stale those whose tool is another one now", async () => {
  const order = {
    name: "order",
    description: "Writes and waits.",
    capabilities: { tools: ["mail"], pause: true },
  } as const;
  const source =
    "export default async (_, { host }) => [await host.tools.call('mail', { to: 'ada' }), await host.pause.signal({ name: 'go' })];";
  await engine.register({ ...order, source });
  const id = await paused("order");
  const shown = await calls(["show", id]);
  expect(shown.stdout).toMatch(/^effect 1: done: mail {2}\{"to":"ada"\} {2}\d{4}-\S+Z$/m);
  expect(shown.stdout).toMatch(/^run 1: begun \S+Z, paused \S+Z, by \S{16}$/m);
  expect(shown.stdout).toContain("isStale: false\n");
  expect((await calls(["list", "--stale"])).stdout).toBe("");
  await engine.register({ ...order, source: source.replace("ada", "bob") });
  expect((await calls(["list", "--stale", "--tool", "order"])).stdout).toContain(
    `${id}  paused  order  -  signal go\n`,
  );
  await engine.calls.durable.cancel(id);
});

test("calls approve takes the digest that was seen, or what there is now, and asks where nobody said", async () => {
  const [one, two] = await Promise.all([paused("refund", { order: 2 }), paused("refund", { order: 3 })]);
  const unasked = await calls(["approve", one]);
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining("--digest DIGEST")]);
  const other = await calls(["approve", one, "--digest", "0".repeat(64)]);
  expect([other.code, other.stderr]).toEqual([1, expect.stringContaining("answers with 409")]);
  const own = await calls(["approve", one, "--yes"], "caller");
  expect([own.code, own.stderr]).toEqual([4, expect.stringContaining("the key that made a call may not decide it")]);
  const three = await paused("refund", { order: 4 });
  const told = await calls(["approve", three, "--yes", "--json"]);
  expect([told.code, JSON.parse(told.stdout)]).toEqual([0, expect.objectContaining({ id: three })]);
  const approved = await calls(["approve", one, "--yes", "--arguments", '{"order":20}', "--actor", "ada"]);
  expect(approved).toMatchObject({ code: 0, stdout: expect.stringMatching(`^${one}: (?:ready|running|ended)\n$`) });
  expect(await calls(["result", one, "--wait", "20"], "caller")).toMatchObject({
    code: 0,
    stdout: '{"refunded":20}\n',
  });
  expect(await calls(["refuse", two, "--reason", "delivered", "--json"])).toMatchObject({ code: 0 });
  const refused = await calls(["result", two, "--wait", "20"]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("approval_refused") });
  expect(refused.stderr).toContain("delivered");
});

test("integers that no number holds are printed with their digits, with a server and without one", async () => {
  const order = "1915883588174806058";
  const id = await paused("refund", { order: BigInt(order) });
  const shown = await calls(["show", id]);
  expect(shown.stdout).toContain(order);
  await calls(["approve", id, "--yes"]);
  expect((await calls(["result", id, "--wait", "20"])).stdout).toBe(`{"refunded":${order}}\n`);
  expect((await calls(["result", id, "--json"])).stdout).toContain(`"output":{"refunded":${order}}`);
  const ran = await glovebox(["run", "refund", "--tools", "tools", "--input", `{"order":${order}}`]);
  const [, kept = "", rest = ""] = /glovebox calls approve (c_[\w-]+) (.+)$/m.exec(ran.stderr) ?? [];
  const approved = await glovebox(["calls", "approve", kept, "--yes", ...rest.trim().split(" ")]);
  expect(approved).toMatchObject({ code: 0, stdout: `{"refunded":${order}}\n` });
});

test("calls signal, cancel and result: 4 is the exit code of a call that waits still", async () => {
  const [one, two] = await Promise.all([paused("wait"), paused("wait")]);
  const waiting = await calls(["result", one], "caller");
  expect(waiting).toMatchObject({ code: 4, stderr: expect.stringContaining("the call waits for signal payment") });
  expect(await calls(["signal", one, "payment", "--payload", '{"sum":12}'], "caller")).toMatchObject({ code: 0 });
  expect(await calls(["result", one, "--wait", "20"], "caller")).toMatchObject({ stdout: '{"sum":12}\n' });
  expect(await calls(["cancel", two, "--reason", "withdrawn"], "caller")).toMatchObject({ stdout: `${two}: ended\n` });
  expect(await calls(["signal", two, "payment", "--payload", "{"], "caller")).toMatchObject({ code: 3 });
  const [three, four] = await Promise.all([paused("wait"), paused("wait")]);
  for (const args of [
    ["signal", three, "payment"],
    ["cancel", four],
  ]) {
    const { code, stdout } = await calls([...args, "--json"], "caller");
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ id: args[1] })]);
  }
  expect(await calls(["cancel", "c_nothing"], "caller")).toMatchObject({ code: 1 });
});

/** An engine over a file, whose tool has an effect after its approval. */
function openPaying(file: string, pay: (args: unknown) => unknown): Promise<Engine> {
  const source = "export default async (input, { host }) => ({ heard: await host.ledger.add(input) });";
  return createEngine({
    workers: 1,
    executor: "threads",
    capabilities: [defineCapability({ name: "ledger", methods: { add: { handler: pay } } })],
    policy: { rules: [{ allow: { ledger: true } }] },
    calls: { path: file },
    tools: [{ name: "pay", description: "Pays.", approval: "always", capabilities: { ledger: true }, source }],
  });
}

/** Calls whose engine closes while their effects are under way. */
async function inDoubt(file: string, count: number): Promise<readonly string[]> {
  let begun = 0;
  await using first = await openPaying(file, () => {
    begun++;
    return new Promise(() => undefined);
  });
  const { durable } = first.calls;
  const made = Array.from({ length: count }, async (_, order) => {
    const { error } = await first.execute({ name: "pay", arguments: { order } });
    const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
    const [wait] = (await durable.get(id))?.waits ?? [];
    await durable.decide(id, { decision: "approve", digest: wait?.kind === "approval" ? wait.digest : "" });
    return id;
  });
  const ids = await Promise.all(made);
  await expect.poll(() => begun).toBe(count);
  await first.close({ drainMs: 0 });
  return ids;
}

test("calls settle says what became of an effect that was under way, and each call goes on with that", async () => {
  const file = path.join(folder, "doubt.sqlite");
  const [one = "", two = ""] = await inDoubt(file, 2);
  const done: unknown[] = [];
  const second = await openPaying(file, (args) => (done.push(args), "done again"));
  await using doubted = await createServer(second, { port: 0, drainMs: 100 });
  const ask = (...args: readonly string[]) => glovebox(["calls", ...args, "--url", doubted.url]);
  await expect.poll(async () => (await ask("list", "--state", "in_doubt")).stdout).toContain(two);
  expect(await ask("settle", one)).toMatchObject({ code: 2, stderr: expect.stringContaining("either --happened") });
  const { code, stdout } = await ask("settle", one, "--happened", '"told"', "--json");
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ id: one })]);
  expect(await ask("settle", two, "--did-not-happen")).toMatchObject({ code: 0 });
  expect((await ask("result", one, "--wait", "20")).stdout).toBe('{"heard":"told"}\n');
  expect((await ask("result", two, "--wait", "20")).stdout).toBe('{"heard":"done again"}\n');
  expect(done).toEqual([{ order: 1 }]);
});

test("calls undo prints what became of each effect", async () => {
  await engine.execute({ name: "tell", arguments: {} }, { durable: true, origin: { surface: "http", key: "caller" } });
  const { calls: ended } = await engine.calls.durable.list({ tool: "tell" });
  const id = ended[0]?.id ?? "";
  expect(await calls(["undo", id], "caller")).toMatchObject({ code: 0, stdout: "1  undone  mail\n" });
  const told = await calls(["undo", id, "--json"], "caller");
  expect(JSON.parse(told.stdout)).toMatchObject({ id: `${id}.undo`, state: "ended" });
  expect(await calls(["undo", await paused("wait")], "caller")).toMatchObject({ code: 1 });
});

test("calls undo --again tries what could not be undone", async () => {
  const undo = { tool: "call_back", arguments: {} };
  await engine.register({ name: "post", description: "Posts.", source: "export default () => 1;", undo });
  const source = "export default (_, { host }) => host.tools.call('post', {});";
  await engine.register({ name: "spread", description: "Posts.", source, capabilities: { tools: ["post"] } });
  const origin = { surface: "http", key: "caller" } as const;
  const { metadata } = await engine.execute({ name: "spread", arguments: {} }, { durable: true, origin });
  const { durableId: id = "" } = metadata;
  expect(await calls(["undo", id], "caller")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("1  failed  post") as string,
  });
  await engine.register({ name: "call_back", description: "Calls back.", source: "export default () => 1;" });
  expect(await calls(["undo", id], "caller")).toMatchObject({ code: 1 });
  expect(await calls(["undo", id, "--again"], "caller")).toMatchObject({ code: 0, stdout: "1  undone  post\n" });
});

test("run keeps a call that pauses in a file, where it is decided and goes on without a server", async () => {
  const cwd = await written("kept", { "refund.js": REFUND, "plain.js": PLAIN });
  const glovebox = (args: readonly string[]): Promise<Ended> => run(cwd, args);
  expect(await glovebox(["run", "plain", "--tools", "."])).toMatchObject({ code: 0, stdout: "1\n" });
  expect(await readdir(cwd)).not.toContain(".glovebox");
  const input = '{"order":7}';
  const ran = await glovebox(["run", "refund", "--tools", ".", "--input", input]);
  expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining("glovebox: paused: PausedError: ")]);
  const [, id = "", rest = ""] = /glovebox calls approve (c_[\w-]+) (.+)$/m.exec(ran.stderr) ?? [];
  const place = rest.trim().split(" ");
  const listed = await glovebox(["calls", "list", ...place, "--state", "paused"]);
  expect(listed.stdout).toContain(`${id}  paused  refund  -  approval of refund`);
  expect((await glovebox(["calls", "list", ...place, "--stale"])).stdout).toBe("");
  expect((await glovebox(["calls", "show", id, ...place])).stdout).toContain('  arguments: {"order":7}\n');
  expect(await glovebox(["calls", "list", ...place, "--code", "ok"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("glovebox calls export prints those of a file"),
  });
  const shown = await glovebox(["calls", "approve", id, "--yes", ...place]);
  expect(shown).toMatchObject({ code: 0, stdout: '{"refunded":7}\n' });
  expect(await glovebox(["calls", "result", id, ...place, "--json"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"refunded":7'),
  });
});

test("mcp keeps a call that pauses in a file: it is decided elsewhere, and read by the next process", async () => {
  const cwd = await written("desk", {});
  const connect = async (): Promise<Client> => {
    const args = [...MAIN, "mcp", "--tools", path.join(folder, "tools")];
    const client = new Client({ name: "tester", version: "1.0.0" });
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, stderr: "ignore" }));
    return client;
  };
  const first = await connect();
  const waiting = await first.callTool({ name: "refund", arguments: { order: 8 } });
  await first.close();
  const [id = ""] = /c_[\w-]+/.exec(JSON.stringify(waiting.content)) ?? [];
  const store = path.join(cwd, ".glovebox", "calls.sqlite");
  const place = ["--file", store, "--tools", path.join(folder, "tools")];
  const approved = await glovebox(["calls", "approve", id, "--yes", ...place]);
  expect(approved).toMatchObject({ code: 0, stdout: '{"refunded":8}\n' });
  const second = await connect();
  const { content } = await second.callTool({ name: "wait_call", arguments: { id } });
  await second.close();
  expect(content).toEqual([{ type: "text", text: '{"refunded":8}' }]);
});

/** The words of the commands that were printed, as a shell reads them. */
function printed(stderr: string): readonly (readonly string[])[] {
  return [...stderr.matchAll(/: glovebox (calls .+)$/gm)].map(([, command]) =>
    execFileSync("sh", ["-c", `printf '%s\\n' ${command}`], { encoding: "utf8" })
      .trimEnd()
      .split("\n"),
  );
}

async function written(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const place = path.join(folder, name);
  await mkdir(place);
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(place, file), text);
  return place;
}

const SEE = `export const spec = { name: "see", description: "Sees.", capabilities: { env: ["REGION"] }, approval: "always" };
export default (_, { host }) => host.env.get("REGION");
`;

test.each([
  ["--tools", ["--tools", "a tool's.js"]],
  ["the configuration's tools", []],
])("run prints a command that works with --config, names with spaces, and %s", async (_, given) => {
  const config = { tools: ["./a tool's.js"], policy: { rules: [{ allow: { env: ["REGION"] } }] } };
  const place = await written(`in ${given.length}`, { "a tool's.js": SEE, "my config.json": JSON.stringify(config) });
  const there = (args: readonly string[]): Promise<Ended> => run(place, args, { REGION: "north" });
  const { code, stderr } = await there(["run", "see", "--config", "my config.json", ...given]);
  const [approve = []] = printed(stderr);
  expect([code, await there([...approve, "--yes"])]).toEqual([4, expect.objectContaining({ stdout: '"north"\n' })]);
});

test("run prints the commands of what a call waits for: a signal, a time, a call below it", async () => {
  const pausing = (name: string, wait: string): string =>
    `export const spec = { name: "${name}", description: "Waits.", capabilities: { pause: true } };
export default async (_, { host }) => (await ${wait}) ?? "done";
`;
  const below = `export const spec = { name: "above", description: "Calls.", capabilities: { tools: ["paid"] } };
export default (_, { host }) => host.tools.call("paid", {});
`;
  const config = { tools: ["."], policy: { rules: [{ allow: { pause: true, tools: ["paid"] } }] } };
  const place = await written("kinds", {
    "paid.js": pausing("paid", 'host.pause.signal({ name: "-paid" })'),
    "later.js": pausing("later", "host.pause.until({ date: Date.now() + 2_000 })"),
    "above.js": below,
    "glovebox.config.json": JSON.stringify(config),
  });
  const commandsOf = async (name: string) => printed((await run(place, ["run", name])).stderr);
  const [send = []] = await commandsOf("paid");
  expect(await run(place, send)).toMatchObject({ code: 0, stdout: '"done"\n' });
  const [look = []] = await commandsOf("later");
  expect(await run(place, look)).toMatchObject({ code: 0, stdout: '"done"\n' });
  const [sendBelow = [], then = []] = await commandsOf("above");
  expect(await run(place, sendBelow)).toMatchObject({ code: 0 });
  expect(await run(place, then)).toMatchObject({ code: 0, stdout: '"done"\n' });
});

test("code keeps a program that pauses, or one of whose tools does, as run keeps a call", async () => {
  const place = await written("programs", { "refund.js": REFUND });
  const ended = async (program: string, more: readonly string[]): Promise<Ended> => {
    await writeFile(path.join(place, "program.ts"), program);
    const { code, stderr } = await run(place, ["code", "program.ts", "--tools", "refund.js"]);
    expect(code).toBe(4);
    const [command = []] = printed(stderr);
    return run(place, [...command, ...more]);
  };
  const ofTool = await ended("return (await tools.refund({ order: 5 })).refunded;", ["--yes"]);
  expect(ofTool).toMatchObject({ code: 0, stdout: expect.stringContaining('"result":5') as string });
  const ofItself = await ended('return [await signal("paid")];', []);
  expect(ofItself).toMatchObject({ code: 0, stdout: expect.stringContaining('"result":[null]') as string });
});
