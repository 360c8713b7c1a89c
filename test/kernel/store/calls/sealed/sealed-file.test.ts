import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { StoreError } from "../../../../../src/kernel/base/errors.ts";
import { readFilter } from "../../../../../src/kernel/store/calls/call-record.ts";
import type { DurableAnswer, DurableStep } from "../../../../../src/kernel/store/calls/durable/durable-step.ts";
import { DEFAULT_KEYS, type KeyedCall, type LedgerStep } from "../../../../../src/kernel/store/calls/ledger.ts";
import { FileCalls } from "../../../../../src/kernel/store/calls/thread/file-calls.ts";
import { rowOf } from "../kept-row.ts";
import { APPROVAL, claimed, stepsOf } from "../durable/suite.ts";
import { scratchFolder } from "../stored-calls.ts";

/* The whole file of calls, sealed with a secret: kept calls, keys and calls that wait. */

const SECRET = "a secret of the file";
const OTHER = "another secret of another file";
const ROOM = { maxAgeMs: 1e12, detailAgeMs: 1e12, maxBytes: 64 * 1024 ** 2, keys: DEFAULT_KEYS };
const PRIVATE = /acme|payroll|4711|salary|hush|secret of the file/;

async function openFile(path: string, secret = SECRET) {
  const calls = await FileCalls.open({ ...ROOM, path, ...(secret === "" ? {} : { secret }) }, () => {
    throw new Error("the file was replaced");
  });
  onTestFinished(() => calls.close());
  const take = (step: DurableStep): DurableAnswer => {
    const [answer = { kind: "missing" }] = calls.file.durable((tables) => tables.take([step]));
    if (answer instanceof StoreError) throw answer;
    return answer;
  };
  const key = (step: LedgerStep) => calls.file.keys((tables) => tables.take([step], 1_000_000)[0] ?? null);
  return { calls, take, key, store: stepsOf({ take }) };
}

const openPlain = (path: string) => openFile(path, "");
const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest();
const KEYED: KeyedCall = { digest: digest("key"), tenant: digest("acme"), asked: digest("4711"), mayRepeat: false };

/** Something of each kind, of a tenant and of values that nobody may read. */
async function fill({ calls, take, key, store }: Awaited<ReturnType<typeof openFile>>): Promise<void> {
  const [cells] = rowOf({ id: "hush1", tool: "payroll", tenant: "acme", code: "tool_error", error: "no salary" });
  await calls.add([[cells, { json: '{"arguments":{"salary":4711}}', run: '{"command":"payroll"}' }]]);
  key({ kind: "claim", call: KEYED, holder: "a" });
  key({ kind: "settle", call: KEYED, holder: "a", result: '{"salary":4711}' });
  await store.notes([{ id: "a", events: ["paused", "ended"], most: 4 }], 0);
  const waits = [{ ...APPROVAL, arguments: { salary: 4711 } }];
  const journal = '{"asks":[{"capability":"payroll","method":"now","args":"[4711]"}],"answers":[]}';
  await store.pause("c_1", waits, { tenant: "acme", journal });
  await store.signal("c_1", { salary: 4711 });
  take({ kind: "save", snippet: { tenant: "acme", name: "payroll", text: "salary()" }, revision: "r" });
}

test("a sealed file has no values and no names in any of its bytes, and each of them is read with the secret", async () => {
  const folder = scratchFolder();
  const opened = await openFile(join(folder, "calls.sqlite"));
  await fill(opened);
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  expect(files).toHaveLength(3);
  expect(files.join("").length).toBeGreaterThan(100_000);
  expect(files.filter((bytes) => PRIVATE.test(bytes))).toEqual([]);
  for (const { digest: own, asked, tenant } of [KEYED])
    for (const each of [own, asked, tenant]) expect(files.join("")).not.toContain(Buffer.from(each).toString("latin1"));

  const { calls, key, take } = await openFile(join(folder, "calls.sqlite"));
  const page = await calls.list(readFilter({ text: "SALARY", tools: ["pay*"], tenant: "acme" }));
  expect(page.calls).toMatchObject([{ id: "hush1", tool: "payroll", error: "no salary" }]);
  expect(await calls.get("hush1", "acme")).toMatchObject({ detail: { arguments: { salary: 4711 } } });
  expect(await calls.run("hush1", null)).toMatchObject({ command: "payroll" });
  expect(key({ kind: "claim", call: KEYED, holder: "b" })).toEqual({ kind: "kept", result: '{"salary":4711}' });
  expect(take({ kind: "get", id: "c_1", tenant: "acme" })).toMatchObject({ call: { waits: [{ step: 1 }] } });
  expect(take({ kind: "snippets", known: null })).toMatchObject({ snippets: [{ tenant: "acme", name: "payroll" }] });
});

test("a file in plain text has all of it, so the search above finds what there is", async () => {
  const folder = scratchFolder();
  await fill(await openPlain(join(folder, "calls.sqlite")));
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
  for (const word of ["acme", "payroll", "4711", "salary", "hush"]) expect(files.join("")).toContain(word);
});

test.each([
  ["sealed", "another secret", SECRET, OTHER, /its calls were sealed with another calls\.secret .*: set that one/],
  ["sealed", "no secret", SECRET, "", /its calls are sealed: set the calls\.secret \(GLOVEBOX_CALLS_SECRET\)/],
  ["plain", "a secret", "", SECRET, /its calls are in plain text, and there is a calls\.secret: name a new file/],
])(
  "a %s file that is opened with %s is refused in words, and left as it was",
  async (_kind, _with, own, given, words) => {
    const path = join(scratchFolder(), "calls.sqlite");
    const first = await openFile(path, own);
    await fill(first);
    await first.calls.close();
    const before = rowsOf(path);
    const other = await openFile(path, given);
    expect(() => other.take({ kind: "get", id: "c_1", tenant: null })).toThrow(words);
    expect(() => other.key({ kind: "claim", call: KEYED, holder: "b" })).toThrow(words);
    await expect(other.calls.add([[rowOf({ id: "x" })[0], null]])).rejects.toThrow(words);
    await expect(other.calls.list(readFilter({}))).rejects.toThrow(words);
    await other.calls.close();
    expect(rowsOf(path)).toEqual(before);
    expect((await openFile(path, own)).take({ kind: "get", id: "c_1", tenant: null }).kind).toBe("call");
  },
);

function rowsOf(path: string): readonly unknown[] {
  using database = new DatabaseSync(path, { readOnly: true });
  return database.prepare("SELECT * FROM durable").all();
}

test("processes that share a file and its secret take calls one from the other, each once", async () => {
  const path = join(scratchFolder(), "calls.sqlite");
  const [first, second] = [await openFile(path), await openFile(path)];
  await first.store.pause("c_1", [APPROVAL]);
  await second.store.approve("c_1");
  expect(claimed(await first.store.claim("c_1", "a"))).toMatchObject({ leg: 1 });
  expect((await second.store.claim("c_1", "b")).kind).toBe("lost");
  expect((await first.store.end("c_1", 1)).kind).toBe("done");
  expect(await second.store.call("c_1")).toMatchObject({ state: "ended" });
});

test("a kept call, and the result of a key, that were changed or are another's are refused, and others are there", async () => {
  const path = join(scratchFolder(), "calls.sqlite");
  const { calls, key } = await openFile(path);
  const row = (id: string) => [rowOf({ id, tool: id })[0], { json: `{"arguments":"${id}"}`, run: null }] as const;
  await calls.add([row("one"), row("two"), row("three")]);
  const keyed = (name: string): KeyedCall => ({ ...KEYED, digest: digest(name) });
  for (const name of ["a", "b"]) {
    key({ kind: "claim", call: keyed(name), holder: "a" });
    key({ kind: "settle", call: keyed(name), holder: "a", result: `"${name}"` });
  }
  using database = new DatabaseSync(path);
  const swap = (table: string, column: string) =>
    database.exec(`UPDATE ${table} SET ${column} = (SELECT ${column} FROM ${table} WHERE rowid = 2) WHERE rowid = 1`);
  swap("detail", "json");
  await expect(calls.get("one", null)).rejects.toThrow("the store has something that another program has changed");
  swap("call", "surface");
  expect((await calls.list(readFilter({}))).calls.map(({ id }) => id).toSorted()).toEqual(["three", "two"]);
  database.exec("UPDATE call SET tool = 'x' WHERE seq = 2");
  expect((await calls.list(readFilter({}))).calls.map(({ id }) => id)).toEqual(["three"]);
  expect(await calls.get("three", null)).toMatchObject({ detail: { arguments: "three" } });
  swap("keyed", "result");
  expect(key({ kind: "claim", call: keyed("a"), holder: "c" })).toBeInstanceOf(StoreError);
  expect(key({ kind: "claim", call: keyed("b"), holder: "c" })).toEqual({ kind: "kept", result: '"b"' });
});

test("a sealed store in memory ends with its engine, as a plain one", async () => {
  const { store } = await openFile(":memory:");
  await store.pause("c_1", [APPROVAL]);
  expect(await store.call("c_1")).toMatchObject({ state: "paused" });
});
