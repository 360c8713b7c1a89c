import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { readdir, stat, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createEngine, defineCapability, type Engine } from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import { DEAR, given, jsonOf, unchanged } from "../long-integers.ts";
import { MAIN } from "../server/served.ts";
import { type Ended, glovebox, ROOT } from "./command.ts";
import { temporaryFolder } from "../kernel/tool/temporary.ts";

const [reader, caller] = [createKey(), createKey()];

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", calls: { path: ":memory:" } });
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

function calls(args: readonly string[], key = reader.secret): Promise<Ended> {
  return command(["calls", ...args], key);
}

function command(args: readonly string[], key = reader.secret): Promise<Ended> {
  return glovebox(ROOT, [...args, "--url", server.url, "--key-env", "KEY"], { KEY: key });
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
  expect(missing.stderr).toContain("answers with 404: it has no call of this id");
});

test("a wrong filter, a key without the role and an unknown key are explained", async () => {
  const [filter, key, unknown] = await Promise.all([
    calls(["list", "--since", "soon"]),
    calls(["list"], caller.secret),
    calls(["list"], `${caller.secret}x`),
  ]);
  expect(filter.code).toBe(3);
  expect(filter.stderr).toContain("since is a time");
  expect(key.stderr).toContain("it wants a key with the role calls");
  expect(unknown.stderr).toContain("answers with 401: it does not know this key");
});

test("the server's own words say why it cannot answer now, and move no cursor", async () => {
  const detail = "the store cannot be used:\u001b[2J\nthe disk is full";
  const failing = http.createServer((_request, response) => {
    response.writeHead(503, { "content-type": "application/problem+json" }).end(JSON.stringify({ detail }));
  });
  onTestFinished(() => void failing.close());
  await once(failing.listen(0, "127.0.0.1"), "listening");
  const { port } = failing.address() as AddressInfo;
  const { code, stderr } = await glovebox(ROOT, ["calls", "list", "--url", `http://127.0.0.1:${port}`]);
  expect(code).toBe(1);
  expect(stderr).toContain("answers with 503: the store cannot be used:\\u001b[2J\\u000athe disk is full\n");
});

test("calls replay and replay with an id run a kept call again, and say whether it ended the same", async () => {
  const [same, short, json, refused] = await Promise.all([
    calls(["replay", "bad"]),
    command(["replay", "bad"]),
    calls(["replay", "bad", "--json"]),
    calls(["replay", "good"]),
  ]);
  expect(same).toMatchObject({ code: 0, stdout: "", stderr: "glovebox: same result as kept\n" });
  expect(short).toMatchObject({ code: 0, stderr: "glovebox: same result as kept\n" });
  expect(JSON.parse(json.stdout)).toEqual({ verdict: "same", differences: [] });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("its values were not kept");
});

test("replay with the id of each of 50 kept calls says that it is the same, and nothing is asked again", async () => {
  let asked = 0;
  const count = defineCapability({ name: "count", methods: { next: { handler: () => ++asked } } });
  const source = "export default async ({ n }, { host }) => [n, await host.count.next({}), Math.random()];";
  const kept = await createEngine({
    workers: 1,
    executor: "threads",
    capabilities: [count],
    policy: { rules: [{ allow: { count: true } }] },
    calls: { path: ":memory:", keep: "everything" },
    tools: [{ name: "ask", description: "Asks.", source, capabilities: { count: true } }],
  });
  await using own = await createServer(kept, { port: 0, drainMs: 100 });
  const ids = Array.from({ length: 50 }, (_, n) => `ask${n}`);
  for (const [n, id] of ids.entries()) await kept.execute({ id, name: "ask", arguments: { n } });
  const ended = await Promise.all(ids.map((id) => glovebox(ROOT, ["replay", id, "--url", own.url])));
  expect(ended.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(
    ids.map(() => "0 glovebox: same result as kept\n"),
  );
  expect(asked).toBe(50);
});

test("calls diff prints a line for each difference", async () => {
  await engine.execute({ id: "worse", name: "fail", arguments: { why: "snow" } }, { tenant: "acme" });
  const { code, stdout } = await calls(["diff", "bad", "worse"]);
  expect(code).toBe(1);
  expect(stdout.split("\n")[0]).toBe('/error/message: "rain\\u001b[2J" -> "snow"');
  const json = JSON.parse((await calls(["diff", "bad", "worse", "--json"])).stdout) as unknown;
  const first = expect.objectContaining({ pointer: "/error/message", right: "snow" }) as unknown;
  expect(json).toMatchObject({ isSame: false, differences: expect.arrayContaining([first]) as unknown });
  expect(await calls(["diff", "bad", "bad"])).toMatchObject({ code: 0, stdout: "" });
});

test.each([
  ["a line", [], / {2}watched\d+ {2}ok {2}fail {2}- /],
  ["JSON", ["--json"], /^\{.*"id":"watched\d+".*\}$/],
])("calls watch prints %s for each call as it ends, until the server stops", async (_what, more, expected) => {
  const args = [...MAIN, "calls", "watch", "--tool", "fail", "--url", server.url, ...more];
  const child = spawn(process.execPath, [...args, "--key-env", "KEY"], { env: { ...process.env, KEY: reader.secret } });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = lines.next();
  let isSeen = false;
  const seen = next.finally(() => (isSeen = true));
  // It hears of calls from when it watches, which it tells nobody: however long its start takes, one will be in time.
  for (let at = 0; !isSeen; at++) {
    await engine.execute({ id: `watched${at}`, name: "fail", arguments: { why: "" } });
    await Promise.race([seen, new Promise((resolve) => setTimeout(resolve, 25))]);
  }
  const { value } = (await next) as { readonly value: string };
  expect(value).toMatch(expected);
  if (more.length > 0) expect(JSON.parse(value)).toMatchObject({ tool: "fail", code: "ok" });
});

test("calls export prints what a file has, and import adds it to another one, where it is replayed", async () => {
  const folder = await temporaryFolder();
  const [from, to, lines] = ["from.sqlite", "to.sqlite", "calls.jsonl"].map((name) => path.join(folder, name));
  const tool = { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" };
  const open = (file = "") =>
    createEngine({ workers: 1, executor: "threads", tools: [tool], calls: { path: file, keep: "everything" } });
  const first = await open(from);
  await first.execute({ id: "sum", name: "add", arguments: { a: 1, b: 2 } });
  await first.execute({ id: "wrong", name: "nothing", arguments: {} });
  const kept = await first.calls.get("sum");
  await first.close();
  const run = (...args: string[]) => glovebox(ROOT, ["calls", ...args]);
  const { stdout } = await run("export", "--file", from ?? "", "--json");
  expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  await writeFile(lines ?? "", stdout);
  expect((await run("import", lines ?? "", "--file", to ?? "")).stderr).toContain("2 calls were added");
  expect((await run("import", lines ?? "", "--file", to ?? "")).stderr).toContain("0 calls were added");
  const second = await open(to);
  onTestFinished(() => second.close());
  expect(await second.calls.get("sum")).toEqual(kept);
  expect((await second.calls.list()).calls).toHaveLength(2);
  expect(await second.calls.replay("sum")).toMatchObject({ verdict: "same" });
  await writeFile(lines ?? "", stdout.replace('"bytes":', '"bites":'));
  expect(await run("import", lines ?? "", "--file", to ?? "")).toMatchObject({ code: 3 });
});

test("calls keep the digits of all integers: as they are listed, shown, exported, imported and run again", async () => {
  const folder = await temporaryFolder();
  const source = `export default async ({ ids }, { host }) => {
    await host.kv.set("ids", { ids });
    return host.kv.get("ids");
  }`;
  const open = (file: string) =>
    createEngine({
      workers: 1,
      executor: "threads",
      tools: [{ name: "keep", description: "Keeps.", source, capabilities: { kv: true } }],
      policy: { rules: [{ allow: { kv: true } }] },
      kv: { path: ":memory:" },
      calls: { path: file, keep: "everything" },
    });
  const run = (...args: string[]) => glovebox(ROOT, ["calls", ...args]);
  let runs = 0;
  await unchanged(async (ids) => {
    const at = (name: string): string => path.join(folder, `${runs}-${name}`);
    runs++;
    const first = await open(at("from"));
    await first.execute({ id: "digits", name: "keep", arguments: { ids } });
    const detail = { arguments: { ids: ids.map(given) }, output: { ids: ids.map(given) } };
    expect(await first.calls.get("digits")).toMatchObject({ detail });
    await first.close();
    const { stdout } = await run("export", "--file", at("from"));
    expect(stdout).toContain(`"arguments":${jsonOf(ids)},"output":${jsonOf(ids)}`);
    await writeFile(at("lines"), stdout);
    expect((await run("import", at("lines"), "--file", at("to"))).stderr).toContain("1 calls were added");
    const second = await open(at("to"));
    await using own = await createServer(second, { port: 0, drainMs: 100 });
    expect(await second.calls.replay("digits")).toMatchObject({ verdict: "same", result: { output: detail.output } });
    expect((await second.calls.get("digits"))?.detail).toMatchObject(detail);
    const shown = await run("show", "digits", "--json", "--url", own.url);
    expect(JSON.parse(shown.stdout)).toMatchObject({ detail });
  }, DEAR)();
});

test("calls export leaves a damaged file as it is, and says so", async () => {
  const folder = await temporaryFolder();
  const file = path.join(folder, "calls.sqlite");
  await writeFile(file, "no database at all".repeat(1_000));
  const exported = await glovebox(ROOT, ["calls", "export", "--file", file]);
  expect(exported).toMatchObject({ code: 1, stderr: expect.stringContaining("calls.sqlite: the store ") });
  expect(await readdir(folder)).toEqual(["calls.sqlite"]);
});

/** Changes of an exported line, and what is said of each. */
const SPOILT: readonly (readonly [what: string, change: (line: Line) => object, said: string])[] = [
  ["a time that no list can go on after", (line) => ({ ...line, beginMs: 9e15 }), "beginMs must be <="],
  ["a count beyond those of numbers", (line) => ({ ...line, bytes: 1e300 }), "bytes must be <="],
  ["capability calls of another type", (line) => withDetail(line, { asks: [null] }), "detail/asks/0 must be object"],
  ["log lines of another type", (line) => withDetail(line, { logs: "a" }), "detail/logs must be array"],
  ["values that cannot be written again", (line) => withDetail(line, { output: nested(1_100) }), "nested deeper than"],
  ["inputs of a replay that are no JSON", (line) => ({ ...line, run: "{" }), "kept run"],
  ["inputs of a replay that are null", (line) => ({ ...line, run: "null" }), "kept run"],
  [
    "answers that nothing asked for",
    (line) => ({ ...line, run: JSON.stringify({ ...(JSON.parse(line.run) as object), answers: [ANSWER] }) }),
    "no kept run: answers[0] answers what was not asked",
  ],
];

interface Line {
  readonly detail: object;
  readonly run: string;
}

const ANSWER = { step: 1, asked: 1, nowMs: 1, ok: true, payload: "1" };

function withDetail(line: Line, parts: object): object {
  return { ...line, detail: { ...line.detail, ...parts } };
}

function nested(levels: number): unknown {
  return JSON.parse("[".repeat(levels) + "]".repeat(levels));
}

test("calls import refuses a line that a server could not list, show or replay, and says why", async () => {
  const folder = await temporaryFolder();
  const [from, to, lines] = [path.join(folder, "from"), path.join(folder, "to"), path.join(folder, "lines")];
  const tool = { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" };
  const kept = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [tool],
    calls: { path: from, keep: "everything" },
  });
  await kept.execute({ name: "add", arguments: { a: 1, b: 2 } });
  await kept.close();
  const run = (...args: string[]) => glovebox(ROOT, ["calls", ...args]);
  const line = JSON.parse((await run("export", "--file", from)).stdout) as Line;
  for (const [what, change, said] of SPOILT) {
    await writeFile(lines, `${JSON.stringify(change(line))}\n`);
    const refused = await run("import", lines, "--file", to);
    expect(refused, what).toMatchObject({ code: 3, stderr: expect.stringContaining(said) as unknown });
  }
  await writeFile(lines, JSON.stringify(withDetail(line, { output: nested(1_000) })));
  expect((await run("import", lines, "--file", to)).stderr).toContain("1 calls were added");
});

test("calls import names a line without an end", async () => {
  const folder = await temporaryFolder();
  const lines = path.join(folder, "calls.jsonl");
  await writeFile(lines, "x".repeat(9 * 1024 * 1024));
  const imported = await glovebox(ROOT, ["calls", "import", lines, "--file", path.join(folder, "to.sqlite")]);
  expect(imported).toMatchObject({ code: 3, stderr: expect.stringMatching(/line 1 of .* has more than/) });
});

test("calls backup copies the store while a server writes it, and a server goes on with the copy", async () => {
  const folder = await temporaryFolder();
  const [from, copy] = [path.join(folder, "calls.sqlite"), path.join(folder, "copy")];
  let runs = 0;
  const effect = { name: "effect", methods: { have: { handler: () => ++runs } } };
  const source = "export default async (_, { host }) => host.effect.have({});";
  const tool = { name: "act", description: "Acts.", source, capabilities: { effect: true } };
  const open = (file: string) =>
    createEngine({
      workers: 1,
      executor: "threads",
      tools: [tool],
      capabilities: [effect],
      policy: { rules: [{ allow: { effect: true } }] },
      calls: { path: file },
      idempotency: { path: file },
    });
  const first = await open(from);
  const act = (one: Engine, key: string) =>
    one.execute({ id: key, name: "act", arguments: {} }, { idempotencyKey: key });
  expect(await act(first, "k0")).toMatchObject({ output: 1 });
  let isWriting = true;
  const writing = (async () => {
    for (let at = 1; isWriting; at++) await act(first, `k${at}`);
  })();
  const run = () => glovebox(ROOT, ["calls", "backup", copy, "--file", from]);
  // The row of a call is written a moment after its end.
  const kept = async () => (await glovebox(ROOT, ["calls", "export", "--file", from])).stdout;
  await expect.poll(kept, { timeout: 60_000 }).toContain('"id":"k0"');
  expect((await run()).stderr).toContain(`was copied to ${copy}`);
  isWriting = false;
  await writing;
  await first.close();
  expect((await readdir(folder)).filter((name) => name.startsWith("copy"))).toEqual(["copy"]);
  expect((await stat(copy)).mode & 0o777).toBe(0o600);
  expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining("already") });
  const before = runs;
  const second = await open(copy);
  onTestFinished(() => second.close());
  expect(await act(second, "k0")).toMatchObject({ output: 1, metadata: { isRepeated: true } });
  expect(runs).toBe(before);
  expect(await second.calls.get("k0")).toMatchObject({ id: "k0", code: "ok" });
});

test("calls export, import and backup of a sealed file need its secret, but for the copy", async () => {
  const folder = await temporaryFolder();
  const at = (name: string): string => path.join(folder, name);
  const secret = "a secret of the file";
  const sealed = await createEngine({ workers: 1, executor: "threads", calls: { path: at("one"), secret } });
  await sealed.register({
    name: "no",
    description: "No.",
    source: 'export default () => { throw new Error("hush"); };',
  });
  await sealed.execute({ id: "bad", name: "no", arguments: {} });
  await sealed.close();
  const run = async (args: readonly string[], GLOVEBOX_CALLS_SECRET = "") => {
    const { code, stdout, stderr } = await glovebox(ROOT, ["calls", ...args], { GLOVEBOX_CALLS_SECRET });
    return code === 0 ? stdout : stderr;
  };
  await run(["backup", at("copy"), "--file", at("one")]);
  expect(await run(["export", "--file", at("copy")])).toContain("its calls are sealed: set the calls.secret");
  expect(await run(["export", "--file", at("copy")], "another secret of the file")).toContain(
    "with another calls.secret",
  );
  const lines = await run(["export", "--file", at("copy")], secret);
  expect(JSON.parse(lines)).toMatchObject({ id: "bad", error: "hush", detail: { arguments: {} } });
  await writeFile(at("lines"), lines);
  await run(["import", at("lines"), "--file", at("two")], secret);
  expect(await run(["export", "--file", at("two")], secret)).toBe(lines);
});
