import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer, request } from "node:http";
import { type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import { longestTurnDuring } from "../turns.ts";

/** Registrants of AgentSpace that mean harm to the server, to its operator or to each other. */
const RECORD = JSON.parse(
  readFileSync(
    fileURLToPath(new URL("../../fixtures/contracts/agentspace/greeting-tool-v1/tool.json", import.meta.url)),
    "utf8",
  ),
) as Record<string, unknown>;
const TOOLS = "/v1/agentspace/tools";
const SECRET = "a value of tool_data that nobody else may read";
/** Records of all tenants in the registry of this test: a tenant may have a quarter of them. */
const RECORDS_MAX = 40;

const textOf = (name: string): string => `gbx_${name.padEnd(40, "0")}`;
const keyOf = (name: string, tenant: string) => ({
  name,
  tenant,
  roles: ["execute", "admin"] as const,
  hash: `sha256:${createHash("sha256").update(textOf(name)).digest("hex")}`,
});

const PROTOTYPE = '{"__proto__":{"type":"string"},"constructor":{"type":"string"},"toString":{"type":"string"}}';

function nested(depth: number): object {
  let field: object = { type: "string" };
  for (let at = 0; at < depth; at++) field = { type: "object", properties: { a: field } };
  return field;
}

function manyFields(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`field_${at}`, { type: "string" }]));
}

let engine: Engine;
let server: Server;
beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  server = await createServer(engine, {
    port: 0,
    keys: [keyOf("ann", "a"), keyOf("bob", "b")],
    agentspace: { path: ":memory:", maxRecords: RECORDS_MAX },
  });
});
afterAll(() => server.close());

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** A request as it is written: `fetch` would put its path in order. */
function ask(as: string, method: string, path: string, body?: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const headers = {
    authorization: `Bearer ${textOf(as)}`,
    ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
  };
  const asked = request(server.url, { method, path, headers }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => (text += chunk));
    response.on("end", () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
  });
  asked.on("error", reject);
  asked.end(body);
  return promise;
}

const register = (as: string, changes: object, query = ""): Promise<Answer> =>
  ask(
    as,
    "POST",
    `${TOOLS}${query}`,
    JSON.stringify({ ...RECORD, tool_source_code_link: "https://a.example/a.zip", ...changes }),
  );

describe("a record", () => {
  test.each([
    "..",
    ".",
    "__proto__",
    "constructor",
    "a/b",
    "a%2fb",
    "a\0b",
    "a\r\nset-cookie: a=1",
    "a b",
    "é".repeat(99),
    "",
  ])("with the id %j is refused, or is a name like any other", async (id) => {
    const { status } = await register("ann", { tool_id: id });
    expect([201, 400]).toContain(status);
    const there = await ask("ann", "GET", `${TOOLS}/${encodeURIComponent(id)}`);
    if (id !== "" && id !== "." && id !== "..") expect(there.status).toBe(status === 201 ? 200 : 404);
    expect(there.headers["set-cookie"]).toBeUndefined();
    await ask("ann", "DELETE", `${TOOLS}/${encodeURIComponent(id)}`);
  });

  test("of deep or endless JSON is refused, and costs the server no turn of note", async () => {
    const deep = `{"tool_id":"deep","tool_data":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`;
    const wide = `{"tool_id":"wide",${Array.from({ length: 60_000 }, (_, at) => `"k${at}":1`).join(",")}}`;
    const bodies = [deep, wide, "[".repeat(500_000), `{"tool_id":"${"x".repeat(900_000)}"}`, "null", "1", '"x"'];
    const turnMs = await longestTurnDuring(async () => {
      for (const body of bodies) {
        expect((await ask("ann", "POST", TOOLS, body)).status, body.slice(0, 20)).toBeGreaterThanOrEqual(400);
      }
    });
    expect(turnMs).toBeLessThan(150);
  });

  test.each<[string, (spec: object) => object]>([
    ["fields of fields, 2,000 deep", (spec) => ({ ...spec, input: { a: nested(2_000) } })],
    ["5,000 fields", (spec) => ({ ...spec, input: manyFields(5_000) })],
    ["a pattern that takes for ever", (spec) => ({ ...spec, input: { a: { type: "string", pattern: "(a+)+$" } } })],
    ["fields by the names of a prototype", (spec) => ({ ...spec, input: JSON.parse(PROTOTYPE) as object })],
    ["lists of lists", (spec) => ({ ...spec, input: { a: { type: "array", items: "[".repeat(9_000) } } })],
  ])("with %s is shown, or is refused, at once", async (_what, change) => {
    const spec = change(RECORD["tools_api_spec"] as object);
    const { status, text } = await register("ann", { tool_id: "spec", tools_api_spec: spec }, "?replace=true");
    expect([201, 400, 413], text).toContain(status);
    for (const part of ["", "/man", "/form", "/spec", "/versions"]) {
      expect((await ask("ann", "GET", `${TOOLS}/spec${part}`)).status).toBe(status === 201 ? 200 : 404);
    }
    await ask("ann", "DELETE", `${TOOLS}/spec`);
  });

  test("whose words are HTML or Markdown is text in its manual page, which is no page of a browser", async () => {
    const words = '<script src="//evil.example"></script>[a](javascript:alert(1))\u202e\u0000';
    await register("ann", { tool_id: "page", tool_description: words }, "?replace=true");
    const { status, headers } = await ask("ann", "GET", `${TOOLS}/page/man`);
    expect([status, headers["content-type"]]).toEqual([200, "text/markdown; charset=utf-8"]);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    await ask("ann", "DELETE", `${TOOLS}/page`);
  });
});

test("a link to an address of the server's own network is not asked for", async () => {
  let asked = 0;
  const inside = createHttpServer((_request, response) => {
    asked++;
    response.end("inside");
  }).listen(0, "127.0.0.1");
  const { port } = await new Promise<AddressInfo>((resolve) =>
    inside.once("listening", () => resolve(inside.address() as AddressInfo)),
  );
  for (const link of [
    `http://127.0.0.1:${port}/a.zip`,
    `http://localhost:${port}/a.zip`,
    `http://[::1]:${port}/a.zip`,
    `http://0x7f.1:${port}/a.zip`,
    "http://169.254.169.254/latest/meta-data/a.zip",
    `${server.url}/metrics`,
  ]) {
    const { status } = await register("ann", { tool_id: "inside", tool_source_code_link: link }, "?replace=true");
    expect([201, 400]).toContain(status);
    const call = JSON.stringify({ name: "inside", arguments: { name: "a" } });
    const { text } = await ask("ann", "POST", "/v1/execute", call);
    expect(text).toContain('"success":false');
    expect(text).not.toContain('inside"}');
  }
  expect(asked).toBe(0);
  inside.close();
  await ask("ann", "DELETE", `${TOOLS}/inside`);
});

test("another tenant's records are not there, by no route and under no spelling", async () => {
  await register("ann", { tool_id: "ann-only", tool_data: { key: SECRET }, tool_tags: ["anns"] });
  const parts = ["", "/man", "/form", "/versions", "/spec", "/commands"];
  for (const id of ["ann-only", "ann%2donly", "ANN-ONLY", "./ann-only", "a/../ann-only", "ann-only%00"]) {
    for (const part of parts) {
      const { status, text } = await ask("bob", "GET", `${TOOLS}/${id}${part}`);
      expect([id, part, status]).toEqual([id, part, 404]);
      expect(text).not.toContain("anns");
    }
  }
  for (const path of [TOOLS, `${TOOLS}?tag=anns`, "/v1/agentspace/search?q=ann-only", "/v1/agentspace/search?q="]) {
    expect((await ask("bob", "GET", path)).text).not.toContain("ann-only");
  }
  expect((await ask("bob", "DELETE", `${TOOLS}/ann-only`)).status).toBe(404);
  const call = JSON.stringify({ name: "ann-only", arguments: { name: "a" } });
  expect((await ask("bob", "POST", "/v1/execute", call)).text).toContain("tool_not_found");
  // The same id is free for the other tenant.
  expect((await register("bob", { tool_id: "ann-only" })).status).toBe(201);
  expect((await ask("bob", "GET", `${TOOLS}/ann-only`)).text).not.toContain(SECRET);
  expect((await ask("ann", "GET", `${TOOLS}/ann-only`)).text).toContain("anns");
  for (const as of ["ann", "bob"]) await ask(as, "DELETE", `${TOOLS}/ann-only`);
});

test("a tenant that registers without end fills its own share, and others register still", async () => {
  const statuses: number[] = [];
  for (let at = 0; at < RECORDS_MAX; at++) statuses.push((await register("ann", { tool_id: `flood-${at}` })).status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(RECORDS_MAX / 4);
  expect(new Set(statuses)).toEqual(new Set([201, 413]));
  expect((await register("bob", { tool_id: "bobs" })).status).toBe(201);
  for (let at = 0; at < 120; at++) {
    const version = { tool_metadata: { version: `${at}` } };
    expect((await register("ann", { tool_id: "flood-0", ...version }, "?replace=true")).status).toBe(201);
  }
  const { text } = await ask("ann", "GET", `${TOOLS}/flood-0/versions`);
  expect((JSON.parse(text) as { readonly versions: readonly unknown[] }).versions).toHaveLength(50);
});

test("searches with odd words answer, and many at once are refused as busy or answered", async () => {
  const words = [
    "%",
    "a*b?",
    "(((((",
    "x".repeat(1_000),
    "\u0000",
    "🙂".repeat(300),
    "OR AND NOT",
    "'; DROP TABLE record; --",
  ];
  for (const word of words) {
    const { status } = await ask("bob", "GET", `/v1/agentspace/search?q=${encodeURIComponent(word)}`);
    expect([word.slice(0, 20), status]).toEqual([word.slice(0, 20), 200]);
  }
  const flood = await Promise.all(
    Array.from({ length: 300 }, (_, at) =>
      ask("ann", "GET", `/v1/agentspace/search?q=flood ${at}`.replace(" ", "%20")),
    ),
  );
  expect(flood.every(({ status }) => status === 200 || status === 503 || status === 429)).toBe(true);
  expect((await ask("bob", "GET", "/v1/agentspace/search?q=bobs")).text).toContain("bobs");
});
