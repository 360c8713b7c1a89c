import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createEngine, type Engine, type EngineOptions } from "../../../../src/glovebox/index.ts";
import { noJail } from "./opened.ts";

const FOLDER = process.env["GLOVEBOX_UPSTREAM_MCP_SERVERS"];
const HOW =
  "of GLOVEBOX_UPSTREAM_MCP_SERVERS, a folder in which npm has installed @modelcontextprotocol/server-everything, -filesystem, -memory and -sequential-thinking,";

type Connector = NonNullable<EngineOptions["connectors"]>[string];

describe.skipIf(FOLDER === undefined || noJail !== undefined)(`each tool ${HOW}`, () => {
  let engine: Engine;
  const data = realpathSync(mkdtempSync(path.join(tmpdir(), "glovebox-mcp-data-")));

  beforeAll(async () => {
    const folder = realpathSync(FOLDER ?? "");
    const server = (name: string, args: readonly string[] = [], more: object = {}): Connector => ({
      mcp: {
        command: process.execPath,
        args: [path.join(folder, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
        folders: { [folder]: "ro", [path.dirname(process.execPath)]: "ro", [data]: "rw" },
        ...more,
      },
    });
    const connectors = {
      everything: server("everything"),
      filesystem: server("filesystem", [data]),
      memory: server("memory", [], { env: { MEMORY_FILE_PATH: path.join(data, "memory.jsonl") } }),
      thinking: server("sequential-thinking"),
    };
    const policy = { rules: [{ allow: { connector: Object.keys(connectors) } }] };
    engine = await createEngine({ workers: 1, executor: "threads", connectors, policy });
    await vi.waitUntil(() => engine.connectors().every(({ state }) => state === "up"), { timeout: 60_000 });
  }, 300_000);
  afterAll(async () => {
    await engine.close();
    rmSync(data, { recursive: true, force: true });
  });

  const at = (name: string): string => path.join(data, name);
  const relation = { from: "a", to: "b", relationType: "knows" };
  const entities = ["a", "b"].map((name) => ({ name, entityType: "t", observations: ["x"] }));

  test.for<readonly [string, object, unknown]>([
    ["everything.echo", { message: "hi" }, "Echo: hi"],
    ["everything.get-sum", { a: 1, b: 2 }, "The sum of 1 and 2 is 3."],
    ["everything.get-env", {}, { HOME: "/home", LANG: "C.UTF-8" }],
    ["everything.get-structured-content", { location: "New York" }, { temperature: 33 }],
    ["everything.get-tiny-image", {}, [{ type: "text" }, { type: "image", mimeType: "image/png" }, { type: "text" }]],
    ["everything.get-annotated-message", { messageType: "success" }, "Operation completed successfully"],
    ["everything.get-resource-links", { count: 1 }, [{ type: "text" }, { type: "resource_link" }]],
    ["everything.get-resource-reference", { resourceType: "Text", resourceId: 1 }, [{}, { type: "resource" }, {}]],
    ["everything.trigger-long-running-operation", { duration: 1, steps: 2 }, expect.stringContaining("completed")],
    ["everything.toggle-simulated-logging", {}, expect.stringContaining("Started")],
    ["everything.toggle-subscriber-updates", {}, expect.stringContaining("Started")],
    [
      "everything.gzip-file-as-resource",
      { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" },
      [{ type: "resource", resource: { mimeType: "application/gzip" } }],
    ],
    ["filesystem.list_allowed_directories", {}, { content: `Allowed directories:\n${data}` }],
    ["filesystem.create_directory", { path: at("d") }, { content: expect.stringContaining("created") as string }],
    ["filesystem.write_file", { path: at("a.txt"), content: "one\ntwo\n" }, {}],
    ["filesystem.read_text_file", { path: at("a.txt") }, { content: "one\ntwo\n" }],
    ["filesystem.read_file", { path: at("a.txt") }, { content: "one\ntwo\n" }],
    ["filesystem.read_media_file", { path: at("a.txt") }, { content: [{ type: "resource" }] }],
    [
      "filesystem.read_multiple_files",
      { paths: [at("a.txt"), at("no")] },
      { content: expect.stringContaining("ENOENT") as string },
    ],
    [
      "filesystem.edit_file",
      { path: at("a.txt"), edits: [{ oldText: "one", newText: "1" }] },
      { content: expect.stringContaining("+1") as string },
    ],
    ["filesystem.list_directory", { path: data }, { content: expect.stringContaining("[FILE] a.txt") as string }],
    ["filesystem.list_directory_with_sizes", { path: data }, { content: expect.stringContaining("a.txt") as string }],
    ["filesystem.directory_tree", { path: data }, { content: expect.stringContaining("a.txt") as string }],
    ["filesystem.move_file", { source: at("a.txt"), destination: at("d/b.txt") }, {}],
    ["filesystem.search_files", { path: data, pattern: "**/*.txt" }, { content: at("d/b.txt") }],
    ["filesystem.get_file_info", { path: at("d/b.txt") }, { content: expect.stringContaining("size: 6") as string }],
    ["memory.create_entities", { entities }, { entities }],
    ["memory.create_relations", { relations: [relation] }, { relations: [relation] }],
    [
      "memory.add_observations",
      { observations: [{ entityName: "a", contents: ["y"] }] },
      { results: [{ addedObservations: ["y"] }] },
    ],
    ["memory.delete_observations", { deletions: [{ entityName: "a", observations: ["y"] }] }, { success: true }],
    ["memory.read_graph", {}, { entities, relations: [relation] }],
    ["memory.search_nodes", { query: "a" }, { entities: [{ name: "a" }] }],
    ["memory.open_nodes", { names: ["b"] }, { entities: [{ name: "b" }] }],
    ["memory.delete_relations", { relations: [relation] }, { success: true }],
    ["memory.delete_entities", { entityNames: ["a", "b"] }, { success: true }],
    [
      "thinking.sequentialthinking",
      { thought: "one", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      { thoughtNumber: 1 },
    ],
  ])("%s", async ([name, args, expected]) => {
    const { output, error } = await engine.execute({ name, arguments: args as Record<string, unknown> });
    expect(error).toBeNull();
    if (typeof expected === "object" && !("asymmetricMatch" in (expected ?? {})))
      expect(output).toMatchObject(expected ?? {});
    else expect(output).toEqual(expected);
  });

  test("is called above, or left out with a reason", () => {
    const called = 36;
    expect(engine.list()).toHaveLength(called);
    expect(engine.connectors().flatMap(({ findings }) => findings)).toEqual([
      { tool: "simulate-research-query", reason: "it answers with a task of the server, which calls do not wait for" },
    ]);
  });

  test("that reads refuses what is outside of its folder, and its sandbox shows nothing of it", async () => {
    const { error } = await engine.execute({ name: "filesystem.read_text_file", arguments: { path: "/etc/passwd" } });
    expect(error).toMatchObject({ code: "tool_error", message: expect.stringContaining("Access denied") as string });
  });
});
