import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { fastify } from "fastify";
import type { Surface } from "../../../src/server/http/surface.ts";
import { addRoutes } from "../../../src/server/http/routes.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { Conformance, DEAF, type OpenApi, readDocument } from "../mcp/conformance.ts";
import { readEvents } from "../../standard/contracts/events.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const ADD = {
  name: "add",
  description: "Adds.",
  source: 'export default ({ a, b }) => { console.log("adding"); return { sum: a + b }; };',
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
};

/** What somebody writes with the generated client. */
const PROGRAM = `
import { defaults, deleteTool, execute, executeBatch, getTool, listTools, putTool } from "./client.ts";

defaults.baseUrl = process.argv[2] ?? "";

const tools = await listTools();
if (tools.status !== 200) throw new Error("no tools");
const said: unknown[] = [tools.data.map((tool) => tool.name)];

const answer = await execute({ name: "add", arguments: { a: 1, b: 2 } });
if (answer.status !== 200) throw new Error("no result");
said.push(answer.data.output, answer.data.metadata.logs[0]?.message);

const wrong = await execute({ name: "add", arguments: { a: "one" } });
if (wrong.status !== 400) throw new Error("no refusal");
said.push(wrong.data.error?.code);

const both = await executeBatch({ calls: [{ name: "add", arguments: { a: 1, b: 1 } }, { name: "nobody" }] });
if (both.status !== 200) throw new Error("no results");
said.push(both.data.results.map(({ success, error }) => [success, error?.code]));

const put = await putTool("echo", { name: "echo", description: "Echoes.", source: "export default (input) => input" });
said.push(put.status, (await getTool("echo")).status, (await deleteTool("echo")).status, (await getTool("echo")).status);
console.log(JSON.stringify(said));
`;

describe("the description of the API", () => {
  let engine: Engine;
  let server: Server;
  let document: OpenApi;
  let folder: string;

  beforeAll(async () => {
    engine = await createEngine({ workers: 1, executor: "threads", tools: [ADD] });
    folder = mkdtempSync(join(tmpdir(), "glovebox-openapi-"));
    server = await createServer(engine, {
      port: 0,
      admin: "open",
      assets: { path: join(folder, "assets") },
      agentspace: { path: ":memory:" },
    });
    document = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApi;
  });

  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  test("is valid OpenAPI 3.1", async () => {
    const { valid, errors } = await new Validator().validate(document as unknown as Record<string, unknown>);
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
    expect(document.openapi).toBe("3.1.0");
  });

  test("has no problem for a second linter", async () => {
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: "/openapi.json", config });
    const events = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+Event)"/g)].map(([pointer]) =>
      pointer.slice(0, -1),
    );
    // OpenAPI 3.1 has no place for the events of a stream: the linter does not look into `x-events`.
    const others = problems.filter(({ location: [place] }) => !events.includes(place?.pointer ?? ""));
    expect(others.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
  });

  test("has every route that there is, and no other", async () => {
    await using app = fastify();
    const routes: string[] = [];
    const undescribed: string[] = [];
    app.addHook("onRoute", ({ method, url, config }) => {
      for (const one of [method].flat()) {
        if (one === "HEAD" || config?.api === "none") continue;
        if (config?.api === undefined) undescribed.push(`${one} ${url}`);
        else routes.push(`${one} ${url.replaceAll(/:(\w+)/g, "{$1}")}`);
      }
    });
    const parts = { gate: {}, registry: {} } as unknown as Pick<Surface, "gate" | "registry">;
    const door: Surface = { engine: DEAF, ...parts, isDraining: () => false, onDrain: () => undefined };
    addRoutes(app, door);
    await app.ready();
    expect(undescribed).toEqual([]);
    const described = Object.entries((await readDocument()).paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.toSorted()).toEqual(routes.toSorted());
  });

  test("has the routes of assets where there are assets, and each operation's name once", () => {
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(["/upload_asset", "/v1/tools/{name}"]));
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    const ids = operations.map((operation) => (operation as unknown as { operationId: string }).operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("asks for a key wherever a role is asked for, and nowhere else", () => {
    const asked = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, operation]) => "401" in operation.responses)
        .map(([method]) => `${method} ${path}`),
    );
    expect(asked.toSorted()).toEqual([
      "delete /mcp",
      "delete /mcp/code",
      "delete /v1/agentspace/tools/{id}",
      "delete /v1/snippets/{name}",
      "delete /v1/tools/{name}",
      "get /mcp",
      "get /mcp/code",
      "get /metrics",
      "get /v1/agentspace/search",
      "get /v1/agentspace/tools",
      "get /v1/agentspace/tools/{id}",
      "get /v1/agentspace/tools/{id}/commands",
      "get /v1/agentspace/tools/{id}/form",
      "get /v1/agentspace/tools/{id}/man",
      "get /v1/agentspace/tools/{id}/spec",
      "get /v1/agentspace/tools/{id}/versions",
      "get /v1/caller",
      "get /v1/calls",
      "get /v1/calls/{id}",
      "get /v1/calls/{id}/comparison",
      "get /v1/code/declarations",
      "get /v1/connectors",
      "get /v1/snippets",
      "get /v1/snippets/{name}",
      "get /v1/stats",
      "get /v1/tools",
      "get /v1/tools/{name}",
      "get /v1/tools/{name}/explanation",
      "get /v1/types",
      "post /mcp",
      "post /mcp/code",
      "post /upload_asset",
      "post /v1/agentspace/tools",
      "post /v1/calls/{id}/cancel",
      "post /v1/calls/{id}/decisions",
      "post /v1/calls/{id}/replay",
      "post /v1/calls/{id}/signals/{name}",
      "post /v1/calls/{id}/undo",
      "post /v1/code/check",
      "post /v1/connectors/{name}/login",
      "post /v1/connectors/{name}/refresh",
      "post /v1/execute",
      "post /v1/execute/batch",
      "post /v1/policy/simulations",
      "put /v1/snippets/{name}",
      "put /v1/tools/{name}",
    ]);
  });

  test("has examples that are what it says", () => {
    const conformance = new Conformance(document);
    const wrong: string[] = [];
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [method, { responses }] of Object.entries(operations)) {
        for (const [status, { content }] of Object.entries(responses)) {
          const { example } = (content?.["application/json"] ?? {}) as { example?: unknown };
          if (example !== undefined) {
            wrong.push(...conformance.check(method, path, Number(status), "application/json", example));
          }
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    ["/v1/execute", { name: "add", arguments: { a: 1 } }, ["log", "result"]],
    ["/v1/execute/batch", { calls: [{ name: "add", arguments: { a: 1 } }, 5] }, ["log", "result", "result"]],
  ])("says what the events of %s are", async (path, body, names) => {
    const conformance = new Conformance(document);
    const response = await fetch(server.url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", accept: "text/event-stream" },
    });
    const events = await Array.fromAsync(readEvents(response.body));
    expect(events.map(({ event }) => event).toSorted()).toEqual(names);
    expect(events.flatMap(({ event, data }) => conformance.checkEvent("POST", path, event, JSON.parse(data)))).toEqual(
      [],
    );
  });

  test("is enough for a client that is generated from it", async () => {
    const file = join(folder, "openapi.json");
    writeFileSync(file, JSON.stringify(document));
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(join(folder, "program.ts"), PROGRAM);
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const modules = (name: string) => join(ROOT, "node_modules", name);
    const node = (...args: string[]) => run(process.execPath, args, { cwd: folder, timeout: 240_000 });
    await node(modules("oazapfts/dist/cli.js"), file, join(folder, "client.ts"), "--useUnknown");
    const strict = "--strict --noEmit --skipLibCheck --allowImportingTsExtensions --module nodenext --target es2024";
    const types = ["--types", "node", "--lib", "es2024,dom,dom.iterable"];
    await node(modules("typescript/bin/tsc"), ...strict.split(" "), ...types, "program.ts");
    const { stdout } = await node("--no-warnings", "program.ts", server.url);
    expect(JSON.parse(stdout)).toEqual([
      ["add"],
      { sum: 3 },
      "adding",
      "invalid_arguments",
      [
        [true, null],
        [false, "tool_not_found"],
      ],
      201,
      200,
      204,
      404,
    ]);
  });
});
