import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ERROR_TEXTS, type ErrorText } from "../../docs/generate/error-texts.ts";
import {
  createEngine,
  defineCapability,
  GloveboxError,
  type Engine,
  type ErrorCode,
  type ExecuteOptions,
  type ToolDefinition,
} from "../../src/glovebox/index.ts";

const NUMBERS = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
const TOOLS: readonly ToolDefinition[] = [
  { name: "add", description: "Adds.", source: "export default ({ a }) => a;", inputSchema: NUMBERS },
  { name: "blocked", description: "Is blocked.", source: "export default () => 1;" },
  {
    name: "greet",
    description: "Throws.",
    source: 'export default () => {\n  throw new Error("No message provided");\n};',
  },
  { name: "spin", description: "Never ends.", source: "export default () => { for (;;); };", limits: { cpuMs: 20 } },
  {
    name: "wait",
    description: "Says that it waits, and waits.",
    source: "export default (_, { progress }) => { progress(1); return new Promise(() => {}); };",
  },
  { name: "large", description: "Answers at length.", source: 'export default () => "x".repeat(2_000_000);' },
  {
    name: "wrong",
    description: "Answers with something else.",
    source: 'export default () => ({ a: "one" });',
    outputSchema: NUMBERS,
  },
  {
    name: "get",
    description: "Fetches an address.",
    source: "export default async ({ url }) => (await fetch(url)).status;",
    capabilities: { fetch: { origins: ["https://api.example.com"] } },
  },
  {
    name: "count",
    description: "Counts the stock.",
    source: "export default (_, { host }) => host.inventory.count({});",
    capabilities: { inventory: true },
  },
  {
    name: "ask",
    description: "Asks again and again.",
    source: "export default async (_, { host }) => { for (;;) await host.kv.get('a'); };",
    capabilities: { kv: true },
  },
];

const INVENTORY = defineCapability({
  name: "inventory",
  methods: {
    count: {
      input: { type: "object" },
      handler: () => {
        throw new Error("the warehouse does not answer");
      },
    },
  },
});

const CRM = {
  openapi: "3.1.0",
  info: { title: "CRM", version: "1" },
  paths: { "/customers": { get: { operationId: "list", responses: { 200: { description: "All." } } } } },
};

let folder: AsyncDisposable & { readonly path: string };
let engine: Engine;

beforeAll(async () => {
  folder = await mkdtempDisposable(join(tmpdir(), "glovebox-errors-"));
  const document = join(folder.path, "crm.json");
  await writeFile(document, JSON.stringify(CRM));
  const auth = { authorizationCode: { issuer: "https://accounts.example.com", clientId: "glovebox" } };
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: TOOLS,
    kv: { path: ":memory:" },
    capabilities: [INVENTORY],
    stateDir: folder.path,
    connectors: { crm: { openapi: { document, server: "https://crm.example.com" }, auth } },
    policy: {
      rules: [
        { allow: { kv: true, inventory: true, fetch: { origins: ["https://api.example.com"] } } },
        { tools: ["crm.*"], allow: { connector: ["crm"] } },
      ],
    },
  });
  engine.on("tool:pre", (event) => {
    if (event.tool === "blocked") event.block("outside business hours");
  });
});

afterAll(async () => {
  await engine.close();
  await folder[Symbol.asyncDispose]();
});

test.each<[code: ErrorCode, tool: string, args?: object, options?: ExecuteOptions]>([
  ["tool_not_found", "greeet"],
  ["invalid_arguments", "add", { a: "one" }],
  ["input_too_large", "greet", { text: "x".repeat(1_048_579) }],
  ["blocked", "blocked"],
  ["cancelled", "wait"],
  ["tool_error", "greet"],
  ["cpu_limit", "spin"],
  ["wall_limit", "wait", {}, { limits: { wallMs: 20 } }],
  ["output_too_large", "large"],
  ["invalid_output", "wrong"],
  ["capability_denied", "get", { url: "https://evil.example/" }],
  ["capability_failed", "count"],
  ["login_required", "crm.list"],
  ["capability_limit", "ask"],
])("the page of %s shows the error as it is", async (code, name, args = {}, options = {}) => {
  const controller = new AbortController();
  const cancels = { signal: controller.signal, onProgress: () => controller.abort() };
  const { error } = await engine.execute(
    { name, arguments: args as Record<string, unknown> },
    code === "cancelled" ? cancels : options,
  );
  const { message, details }: ErrorText = ERROR_TEXTS[code];
  expect(error?.code).toBe(code);
  expect(exampleOf(error?.message, error?.details)).toEqual(exampleOf(message, details));
});

test("the page of load_error shows the error as it is", async () => {
  const entry = join(folder.path, "greet.js");
  await writeFile(entry, 'import pad from "left-pad";\nexport default () => pad;');
  const refused: unknown = await engine
    .register({ name: "greet", description: "Greets.", entry })
    .catch((error: unknown) => error);
  if (!(refused instanceof GloveboxError)) throw new Error("it was registered");
  const { message, details }: ErrorText = ERROR_TEXTS.load_error;
  expect(refused.code).toBe("load_error");
  expect(exampleOf(refused.message, refused.details)).toEqual(exampleOf(message, details));
});

/** What an example shows, without its numbers and its stack: those are of a single call. */
function exampleOf(message: string | undefined, details: unknown): unknown {
  const text = JSON.stringify({ message, details: { ...(details as object | undefined), stack: undefined } });
  return JSON.parse(text.replaceAll(/\d+/g, "0"));
}
