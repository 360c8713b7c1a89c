import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readYaml, YamlError } from "../../../src/kernel/base/yaml-text.ts";
import { createEngine, type Engine, type EngineOptions, type JsonValue } from "../../../src/glovebox/index.ts";
import { rawDigits } from "../../../src/kernel/base/exact-json.ts";
import { readConfiguration } from "../../../src/server/config/configuration.ts";
import { readEnvironment } from "../../../src/server/config/environment.ts";
import { bodyWith, documentOf, serveApi } from "../../connectors/engine/api.ts";
import { openConnected, serveByHand } from "../../connectors/engine/mcp-by-hand.ts";
import { toolsForLangChain } from "../../../src/contrib/agents/adapters/langchain.ts";
import { AiSchema } from "../../../src/contrib/agents/forms/ai-schema.ts";
import { readOpenApi } from "../../../src/connectors/tool/openapi/read-openapi.ts";
import { given, ID, typeOf, unchanged } from "../../long-integers.ts";

const OTHER = "1915883588174806059";
const long = fc
  .tuple(fc.bigInt({ min: 2n ** 53n, max: 2n ** 200n }), fc.boolean())
  .map(([value, isNegative]) => (isNegative ? -value : value));

let engine: Engine;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-exact-documents-"));
  engine = await createEngine({ workers: 1 });
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

describe("a document of YAML", () => {
  test("keeps the digits of every integer, as a value and as a name", () => {
    fc.assert(
      fc.property(fc.array(long, { minLength: 1 }), (ids) => {
        const list = ids.map((id) => `  - ${id}\n`).join("");
        expect(JSON.stringify(readYaml(`ids:\n${list}`))).toBe(`{"ids":[${ids.join(",")}]}`);
        const [id] = ids;
        expect(JSON.stringify(readYaml(`${id}: 1`))).toBe(`{"${id}":1}`);
        expect(JSON.stringify(readYaml(`{"id": ${id}}`))).toBe(`{"id":${id}}`);
      }),
      { numRuns: 50 },
    );
  });

  test("takes two long names that differ in their last digit", () => {
    expect(Object.keys(Object(readYaml(`${ID}: 1\n${OTHER}: 2`)))).toEqual([String(ID), OTHER]);
  });

  test("has its other numbers as before", () => {
    expect(readYaml("[9007199254740991, -5, 1.5, 1e300, 0x10, .inf, 1234567890123.5]")).toEqual([
      9007199254740991,
      -5,
      1.5,
      1e300,
      16,
      Infinity,
      1234567890123.5,
    ]);
  });

  test.each(["1e999999999", "9".repeat(5_000), "9".repeat(1_000_000)])(
    "is refused for a number that nothing holds",
    (number) => {
      expect(() => readYaml(`a: ${number}`)).toThrow(YamlError);
    },
  );
});

describe("the config of a tool", () => {
  const source =
    "export default (_input, { config }) => ({ id: String(config.id), type: typeof config.id, again: config });";

  async function seen(config: JsonValue): Promise<string> {
    await engine.register({ name: "reads", description: "Reads its config.", inputSchema: true, source, config });
    const { output, error } = await engine.execute({ name: "reads", arguments: {} });
    expect(error ?? null).toBeNull();
    await engine.unregister("reads");
    return JSON.stringify(output);
  }

  const TOOLS = `[{"path":"./tool.js","config":{"id":${ID}}}]`;

  test.each([
    ["a file of YAML", "exact.yaml", `tools:\n  - path: ./tool.js\n    config:\n      id: ${ID}\n`, {}],
    ["a file of JSON", "exact.json", `{"tools":${TOOLS}}`, {}],
    ["a variable", "none.json", "{}", { GLOVEBOX_TOOLS: TOOLS }],
  ])("has the digits of an integer in %s", async (_what, name, text, environment) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    const { values } = await readConfiguration(file, readEnvironment(environment));
    const [tool] = values["tools"] as readonly { readonly config: JsonValue }[];
    expect(await seen(tool?.config ?? null)).toBe(`{"id":"${ID}","type":"bigint","again":{"id":"${ID}"}}`);
  });

  test("has the digits of a bigint beside the path of a module", async () => {
    const file = join(folder, "reads.js");
    writeFileSync(file, `export const spec = { description: "Reads its config." };\n${source}`);
    const config = { id: ID } as unknown as JsonValue;
    await using own = await createEngine({ workers: 1, tools: [{ path: file, config }] });
    expect((await own.execute({ name: "reads", arguments: {} })).output).toMatchObject({ id: `${ID}`, type: "bigint" });
  });

  test(
    "has the digits of a bigint in a definition",
    unchanged(async (ids) => {
      const own = { id: ids[0], ids } as unknown as JsonValue;
      const [id = 0n] = ids;
      const again = { id: given(id), ids: ids.map(given) };
      expect(await seen(own)).toBe(JSON.stringify({ id: `${id}`, type: typeOf(id), again }));
    }),
  );

  test("is refused for a number that JSON does not have, with its place", async () => {
    const definition = {
      name: "bad",
      description: "Bad.",
      inputSchema: true,
      source,
      config: { a: { b: Number.NaN } },
    };
    await expect(engine.register(definition)).rejects.toThrow("/a/b is NaN");
  });
});

describe("the condition of an approval", () => {
  const when = `{"properties":{"id":{"enum":[${ID},${ID + 2n}]}},"required":["id"]}`;
  const policy = `{"rules":[],"approvals":[{"tools":["pays"],"when":${when}}]}`;

  async function ends(given: unknown): Promise<readonly string[]> {
    const source = "export default ({ id }) => String(id);";
    const tools = [{ name: "pays", description: "Pays.", source }];
    await using own = await createEngine({
      workers: 1,
      executor: "threads",
      tools,
      policy: given as NonNullable<EngineOptions["policy"]>,
    });
    const ended = [ID, ID + 1n, ID + 2n].map((id) => own.execute({ name: "pays", arguments: { id } }));
    return (await Promise.all(ended)).map(({ error }) => error?.code ?? "ok");
  }

  test.each([
    ["a file of YAML", `policy:\n  rules: []\n  approvals:\n    - tools: [pays]\n      when: ${when}\n`, {}],
    ["a variable", "{}", { GLOVEBOX_POLICY: policy }],
  ])("compares the digits of integers in %s", async (_what, text, environment) => {
    const file = join(folder, "policy.yaml");
    writeFileSync(file, text);
    const { values } = await readConfiguration(file, readEnvironment(environment));
    expect(await ends(values.policy)).toEqual(["paused", "ok", "paused"]);
  });

  test("compares the digits of a bigint in the embedder's options", async () => {
    const given = { properties: { id: { enum: [ID, ID + 2n] } }, required: ["id"] };
    expect(await ends({ rules: [], approvals: [{ tools: ["pays"], when: given }] })).toEqual([
      "paused",
      "ok",
      "paused",
    ]);
  });
});

describe("a schema of a module", () => {
  test("keeps the digits of its values, in what is listed and in what is checked", async () => {
    const source = `export const spec = { name: "picks", description: "Picks.", inputSchema: { type: "object",
      properties: { id: { type: "integer", enum: [${ID}n] } }, required: ["id"] } };
      export default ({ id }) => String(id);`;
    const file = join(folder, "picks.js");
    writeFileSync(file, source);
    await using own = await createEngine({ workers: 1, tools: [file] });
    expect(JSON.stringify(own.get("picks")?.inputSchema)).toContain(`"enum":[${ID}]`);
    const right = await own.execute({ name: "picks", arguments: { id: String(ID) } });
    expect(right.output).toBe(String(ID));
    const wrong = await own.execute({ name: "picks", arguments: { id: OTHER } });
    expect(wrong.error?.code).toBe("invalid_arguments");
  });
});

test("a listed schema with bounds of 64 bits is taken by other validators, and its copies keep the digits", async () => {
  const source = `export const spec = { name: "bounded", description: "Is bounded.", limits: { wallMs: 2 ** 60 },
    inputSchema: { type: "object", properties: {
      n: { type: "integer", maximum: 9223372036854775807n }, id: { enum: [${ID}n], default: ${ID}n } } } };
    export default ({ n }) => String(n);`;
  const file = join(folder, "bounded.js");
  writeFileSync(file, source);
  await using own = await createEngine({ workers: 1, tools: [file] });
  const schema = own.get("bounded")?.inputSchema as Record<string, unknown>;
  const check = new Ajv({ strict: false }).compile(schema);
  expect([check({ n: 5 }), check({ n: 1e30 })]).toEqual([true, false]);
  const [wrong, right] = [9223372036854775808n, 9223372036854775807n].map((n) =>
    own.execute({ name: "bounded", arguments: { n: String(n) } }),
  );
  expect((await wrong)?.error?.code).toBe("invalid_arguments");
  expect((await right)?.output).toBe("9223372036854775807");
  expect(JSON.stringify(new AiSchema(schema)["~standard"].jsonSchema.input())).toContain(
    `"enum":[${ID}],"default":${ID}`,
  );
  const [offered] = await toolsForLangChain(own);
  expect(JSON.stringify(offered?.schema)).toContain(`"enum":[${ID}],"default":${ID}`);
});

describe("an OpenAPI document", () => {
  const schema = (id: bigint): string =>
    `{"type":"integer","enum":[${id}],"const":${id},"minimum":${id},"default":${id}}`;
  const head = `"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://a.example/"}]`;
  const documentOf = (id: bigint): string =>
    `{${head},"paths":{"/t":{"get":{"parameters":[{"name":"id","in":"query","schema":${schema(id)}}],"responses":{}}}}}`;

  test("keeps the digits of its enum, const, bounds and defaults, as JSON and as YAML", () => {
    fc.assert(
      fc.property(long, (id) => {
        for (const text of [documentOf(id), `# YAML\n${documentOf(id)}`]) {
          const { tools } = readOpenApi(text, { connector: "c" });
          const written = JSON.stringify(tools[0]?.inputSchema);
          for (const part of [`"enum":[${id}]`, `"const":${id}`, `"minimum":${id}`]) expect(written).toContain(part);
          if (String(id).length < 60) expect(written).toContain(`Default: ${id}`);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe("a long integer among the values of a connector's schema", () => {
  const property = { type: "integer", enum: [rawDigits(`${ID}`), rawDigits(`${ID + 2n}`), 7] };

  async function calls(connector: object, args: (id: unknown) => object): Promise<string> {
    const connectors = { c: connector } as NonNullable<EngineOptions["connectors"]>;
    const policy = { rules: [{ allow: { connector: ["c"] } }] };
    await using own = await openConnected({ workers: 1, executor: "threads", connectors, policy });
    const codes = [];
    for (const id of [ID, `${ID}`, ID + 2n, 7, ID + 1n, OTHER, Number(ID)]) {
      const { error } = await own.execute({ name: "c.pick", arguments: { ...args(id) } });
      codes.push(error?.code ?? "ok");
    }
    expect(codes).toEqual([...Array<string>(4).fill("ok"), ...Array<string>(3).fill("invalid_arguments")]);
    return JSON.stringify(own.get("c.pick")?.inputSchema);
  }

  test.each(["api.json", "api.yaml"])("of %s is listed, compared and sent with its digits", async (name) => {
    await using api = await serveApi();
    const json = JSON.stringify(documentOf([["POST", "/pick", "pick", bodyWith({ id: property })]]));
    const document = await api.write(name === "api.yaml" ? `# YAML\n${json}` : json, name);
    const listed = await calls({ openapi: { document, server: api.origin } }, (id) => ({ body: { id } }));
    expect(listed).toContain(`"enum":[${ID},${ID + 2n},7]`);
    expect(api.seen.map(({ body }) => body)).toEqual([ID, ID, ID + 2n, 7].map((id) => `{"id":${id}}`));
  });

  test("of an MCP server is listed, compared and sent with its digits", async () => {
    await using hand = await serveByHand([
      { name: "pick", inputSchema: { type: "object", properties: { id: property } } },
    ]);
    const listed = await calls({ mcp: { url: `${hand.origin}/mcp` } }, (id) => ({ id }));
    expect(listed).toContain(`"enum":[${ID},${ID + 2n},7]`);
    const sent = hand.seen.flatMap(({ body }) => /"arguments":(\{[^}]*\})/.exec(body)?.[1] ?? []);
    expect(sent).toEqual([ID, ID, ID + 2n, 7].map((id) => `{"id":${id}}`));
  });
});
