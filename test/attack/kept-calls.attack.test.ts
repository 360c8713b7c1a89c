import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { createKey } from "../../src/server/access/secret.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import type { CallPage } from "../../src/kernel/store/calls/call-record.ts";

const [thief, operator] = [createKey(), createKey()];
const LIKE = [
  "'",
  '"',
  "--",
  "; DROP TABLE call",
  "' OR '1'='1",
  "%",
  "_",
  "\\",
  "\0",
  "*",
  "a' UNION SELECT * FROM detail --",
];

let folder: string;
let engine: Engine;
let server: Server;
let foreign: CallPage;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-theft-"));
  engine = await createEngine({ workers: 1, executor: "threads", stateDir: folder, calls: { keep: "everything" } });
  await engine.register({
    name: "fail",
    description: "Fails.",
    source: "export default ({ why }) => { throw new Error(why); };",
  });
  server = await createServer(engine, {
    port: 0,
    drainMs: 100,
    keys: [
      { name: "thief", hash: thief.hash, tenant: "thief", roles: ["calls", "execute"], tools: ["fail"] },
      { name: "operator", hash: operator.hash, tenant: null, roles: ["calls"] },
    ],
  });
  for (let at = 0; at < 5; at++) {
    await engine.execute(
      { id: `victim-${at}`, name: "fail", arguments: { why: `of the victim ${at}` } },
      { tenant: "victim" },
    );
  }
  await engine.execute({ id: "victim-0", name: "fail", arguments: { why: "mine" } }, { tenant: "thief" });
  foreign = (await read("?limit=2", operator.secret)).body as CallPage;
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function read(query: string, key = thief.secret) {
  const response = await fetch(`${server.url}/v1/calls${query}`, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as unknown };
}

describe("a key of one tenant", () => {
  test("reads no call of another, by no filter, tenant, id or cursor", async () => {
    const cursors = [foreign.cursor, `${Date.now() + 1e6}-999999`, "999999999999999-999999999999999", "0-0"];
    const queries = [
      "",
      "?tenant=victim",
      "?tenant=",
      "?text=victim",
      "?text=%25",
      "?tool=fail&code=tool_error&tenant=victim",
      ...cursors.map((cursor) => `?cursor=${cursor}`),
      ...cursors.map((cursor) => `?cursor=${cursor}&tenant=victim&text=of`),
    ];
    for (const query of queries) {
      const { status, text } = await read(query);
      expect([query, status]).toEqual([query, 200]);
      expect(text).not.toContain("of the victim");
    }
    // Its own call has the id of another tenant's, which it does not find by that.
    expect((await read("/victim-0")).body).toMatchObject({ tenant: "thief", detail: { arguments: { why: "mine" } } });
    for (let at = 1; at < 5; at++) expect((await read(`/victim-${at}`)).status).toBe(404);
    expect((await read("/victim-1%00")).status).toBe(404);
    expect((await read("/%25")).status).toBe(404);
  });

  test("writes no SQL by a filter or an id", async () => {
    for (const part of LIKE) {
      const value = encodeURIComponent(part);
      for (const name of ["tool", "tenant", "code", "text"]) {
        const { status, text } = await read(`?${name}=${value}`);
        expect([part, status]).toEqual([part, 200]);
        expect(text).not.toContain("of the victim");
      }
      for (const name of ["limit", "since", "until", "cursor"]) {
        expect([part, (await read(`?${name}=${value}`)).status]).toEqual([part, 400]);
      }
      expect((await read(`/${value}`)).status).toBe(404);
    }
    expect((await read("", operator.secret)).body).toMatchObject({ calls: { length: 6 } });
  });

  test("has huge, repeated and unknown filters refused before the store is asked", async () => {
    for (const query of [
      `?text=${"x".repeat(300)}`,
      `?tool=${"x".repeat(10_000)}`,
      "?tool=a&tool=b",
      "?tools=fail",
      "?__proto__=1",
      "?limit=1e9",
    ]) {
      expect([query.slice(0, 20), (await read(query)).status]).toEqual([query.slice(0, 20), 400]);
    }
  });

  test("keeps no more of a call than a record has room for", async () => {
    const long = "y".repeat(300_000);
    await engine.execute({ id: "long", name: "fail", arguments: { why: long } }, { tenant: "thief" });
    await engine.execute({ id: "odd", name: "x".repeat(100_000), arguments: {} }, { tenant: "thief" });
    const { body } = await read("/long");
    expect(body).toMatchObject({ error: expect.any(String), detail: { arguments: null } });
    expect(JSON.stringify(body).length).toBeLessThan(300_000);
    expect((await read("?code=tool_not_found")).text.length).toBeLessThan(2_000);
  });
});
