import { expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import { checkConnectors } from "../../../src/connectors/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { bodyWith, documentOf, engineWith, sendJson, serveApi } from "./api.ts";
import { openConnected, serveByHand } from "./mcp-by-hand.ts";

/* A connector says which tool undoes an operation of its server. */

const ITEMS = documentOf([
  ["POST", "/items", "create_item", bodyWith({ title: { type: "string" } })],
  ["DELETE", "/items/{id}", "delete_item"],
  ["POST", "/orders", "create_order"],
]);
const UNDO = { create_item: { tool: "crm.delete_item", arguments: { id: "/output/id" } } };

/** Runs a program that is undone if it fails; the report. */
async function undone(engine: Engine, code: string) {
  const result = await codeMode(engine).run(code, { undo: "onFailure" });
  expect(result.error?.code).toBe("tool_error");
  return engine.calls.undo(result.metadata.durableId ?? "");
}

test("a program of two operations that fails has the first one undone by an operation of the same server", async () => {
  const items = new Map<string, string>();
  await using api = await serveApi(({ method, url, body }, response) => {
    if (url === "/orders") return sendJson(response, { message: "no stock" }, 409);
    if (method === "DELETE") return sendJson(response, { gone: items.delete(url.slice("/items/".length)) });
    const id = `i-${items.size + 1}`;
    items.set(id, body);
    return sendJson(response, { id });
  });
  await using engine = await createEngine(engineWith(api, await api.write(ITEMS), { undo: UNDO }));
  expect(engine.get("crm.create_item")?.undo).toEqual(UNDO.create_item);
  const report = await undone(
    engine,
    `await tools.crm.create_item({ body: { title: "one" } });
     await tools.crm.create_order({});`,
  );
  expect(report?.effects).toMatchObject([{ tool: "crm.create_item", outcome: "undone" }]);
  expect(api.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "POST /items",
    "POST /orders",
    "DELETE /items/i-1",
  ]);
  expect(items.size).toBe(0);
});

test("a tool of an MCP server is undone by one of the same server", async () => {
  await using hand = await serveByHand([{ name: "open" }, { name: "close" }]);
  const called: unknown[] = [];
  hand.answer = (_tool, { body }) => {
    const { params } = JSON.parse(body) as { readonly params: unknown };
    called.push(params);
    return { content: [], structuredContent: { number: 7 } };
  };
  await using engine = await openConnected({
    workers: 1,
    executor: "threads",
    connectors: {
      desk: {
        mcp: { url: hand.origin },
        undo: { open: { tool: "desk.close", arguments: { number: "/output/number", title: "/input/title" } } },
      },
    },
    policy: { rules: [{ allow: { connector: ["desk"] } }] },
  });
  const report = await undone(engine, `await tools.desk.open({ title: "one" }); throw new Error("no");`);
  expect(report?.effects).toMatchObject([{ tool: "desk.open", outcome: "undone" }]);
  expect(called).toMatchObject([
    { name: "open", arguments: { title: "one" } },
    { name: "close", arguments: { number: 7, title: "one" } },
  ]);
});

test("an undo that names no tool of the connector is a finding, and takes nothing from the others", async () => {
  await using api = await serveApi();
  const undo = {
    ...UNDO,
    create_itme: UNDO.create_item,
    create_order: { tool: "crm.delete_order", arguments: {} },
    delete_item: { tool: "elsewhere.restore", arguments: {} },
  };
  const options = engineWith(api, await api.write(ITEMS), { undo });
  await using engine = await createEngine(options);
  const findings = [
    { tool: "crm.create_itme", reason: "its undo is not used: the connector has no such tool" },
    { tool: "crm.create_order", reason: "it cannot be undone: the connector has no tool crm.delete_order" },
  ];
  expect(engine.connectors()[0]?.findings).toEqual(findings);
  expect((await checkConnectors(options))[0]?.findings).toEqual(findings);
  expect(engine.get("crm.create_item")?.undo).toEqual(UNDO.create_item);
});
