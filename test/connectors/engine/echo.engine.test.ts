import fc from "fast-check";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { byLength, IS_LONG } from "../../length.ts";
import { type Api, serveApi } from "./api.ts";
import {
  type DescribedApi,
  type DescribedOperation,
  type DescribedSchema,
  operationsOf,
  type Received,
  serveDocument,
} from "./echo-server.ts";

const RUNS = byLength(20, 500);
const TEXT = { type: "string" };
const WORD = { type: "string", pattern: "^[a-z]{1,8}$" };
const FILE = { type: "string", format: "binary" };
const FIELDS = {
  type: "object",
  required: ["name"],
  properties: {
    name: TEXT,
    age: { type: "integer" },
    isOpen: { type: "boolean" },
    tags: { type: "array", items: TEXT },
    codes: { type: "array", items: WORD },
    owner: { type: "object", required: ["id"], properties: { id: { type: "integer" }, note: TEXT } },
  },
};
const ENCODING = { codes: { style: "pipeDelimited", explode: false } };

function posts(path: string, mediaType: string, content: object): DescribedApi["paths"] {
  const operationId = `${path.slice(1)}_${mediaType.replaceAll(/\W/g, "_")}`;
  const requestBody = { required: true, content: { [mediaType]: content } } as const;
  const answered = path === "/mirror" ? { [mediaType]: content } : { "application/json": {} };
  const responses = { 200: { description: "", content: answered } };
  return { [`${path}/${operationId}`]: { post: { operationId, requestBody, responses } } };
}

/** All that a request is made of. */
const DOCUMENT: DescribedApi = {
  openapi: "3.2.0",
  info: { title: "An API that answers with what it received", version: "1" },
  paths: {
    "/things/{id}": {
      put: {
        operationId: "parameters",
        parameters: [
          { name: "id", in: "path", required: true, schema: { ...TEXT, pattern: "^(?!\\.{1,2}$)[^]+$" } },
          { name: "text", in: "query", schema: TEXT },
          { name: "list", in: "query", schema: { type: "array", items: { type: "number" } } },
          { name: "codes", in: "query", explode: false, schema: { type: "array", items: WORD } },
          { name: "deep", in: "query", style: "deepObject", schema: FIELDS },
          { name: "json", in: "query", content: { "application/json": { schema: {} } } },
          { name: "x-note", in: "header", schema: { ...TEXT, pattern: "^[!-~à-ÿ]([ -~]*[!-~])?$" } },
          { name: "x-codes", in: "header", schema: { type: "array", items: WORD, minItems: 1 } },
          { name: "session", in: "cookie", schema: TEXT },
          { name: "count", in: "cookie", schema: { type: "integer" } },
        ],
        responses: {},
      },
    },
    "/search": {
      query: {
        operationId: "search",
        requestBody: { required: true, content: { "application/json": { schema: {} } } },
        responses: {},
      },
      get: {
        operationId: "find",
        parameters: [
          {
            name: "filter",
            in: "querystring",
            required: true,
            content: { "application/x-www-form-urlencoded": { schema: FIELDS, encoding: ENCODING } },
          },
        ],
        responses: {},
      },
    },
    "/select": {
      get: {
        operationId: "select",
        parameters: [
          { name: "where", in: "querystring", required: true, content: { "application/json": { schema: {} } } },
        ],
        responses: {},
      },
    },
    "/copies/{id}": {
      additionalOperations: {
        COPY: {
          operationId: "copy",
          parameters: [{ name: "id", in: "path", required: true, schema: WORD }],
          responses: {},
        },
      },
    },
    ...posts("/echo", "application/x-www-form-urlencoded", { schema: FIELDS, encoding: ENCODING }),
    ...posts("/echo", "multipart/form-data", {
      schema: {
        ...FIELDS,
        properties: {
          ...FIELDS.properties,
          photo: FILE,
          pages: { type: "array", items: FILE },
          meta: TEXT,
          page: FILE,
        },
      },
      encoding: {
        ...ENCODING,
        meta: { contentType: "application/json" },
        page: { contentType: "text/html, text/plain" },
      },
    }),
    ...Object.assign(
      {},
      ...["/echo", "/mirror"].flatMap((path) => [
        ...["application/json", "application/vnd.crm.v2+json", "application/merge-patch+json"].map((type) =>
          posts(path, type, { schema: {} }),
        ),
        ...["text/plain", "text/csv", "text/markdown; charset=utf-8"].map((type) =>
          posts(path, type, { schema: TEXT }),
        ),
        ...["application/octet-stream", "image/png", "image/*", "application/pdf"].map((type) => posts(path, type, {})),
      ]),
    ),
  },
};
const OPERATIONS = operationsOf(DOCUMENT);

let api: Api;
let server: FastifyInstance;
let engine: Engine;
beforeAll(async () => {
  api = await serveApi();
  server = await serveDocument(DOCUMENT);
  const origin = server.listeningOrigin;
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    connectors: { echo: { openapi: { document: await api.write(DOCUMENT), server: origin } } },
    policy: { rules: [{ allow: { connector: ["echo"] } }] },
  });
});
afterAll(async () => {
  await engine.close();
  await server.close();
  await api[Symbol.asyncDispose]();
});

test("each operation is a tool, and nothing is left out", () => {
  const names = OPERATIONS.map(({ operationId }) => `echo.${operationId}`);
  expect(engine.list().map(({ name }) => name)).toEqual(names.toSorted());
  expect(engine.connectors()[0]?.findings).toEqual([]);
});

test.each(OPERATIONS)("what $operationId sends is what the server reads", async (operation) => {
  const name = `echo.${operation.operationId}`;
  await fc.assert(
    fc.asyncProperty(argumentsOf(operation), async (args) => {
      const { output, error } = await engine.execute({ name, arguments: args });
      expect(error).toBeNull();
      if (operation.path.startsWith("/mirror")) expect(output).toEqual(mirrored(operation, args));
      else expect(readOf(operation, output as Received)).toEqual(expectedOf(operation, args));
    }),
    { numRuns: RUNS, ...(IS_LONG ? {} : { seed: 2020 }) },
  );
});

type Arguments = Readonly<Record<string, unknown>>;

const text = fc.string({ unit: "binary", maxLength: 20 }).filter((one) => one.isWellFormed());
/** Without integers that no number holds: those are texts in outputs. */
const number = fc
  .double({ noNaN: true, noDefaultInfinity: true })
  .filter((one) => Math.abs(one) <= Number.MAX_SAFE_INTEGER || Math.abs(one) >= 1e21);
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(
      text.filter((name) => name !== "__proto__"),
      tie("json"),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
}));
const base64 = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("base64"));
const file = fc.record(
  {
    base64,
    filename: fc.stringMatching(/^[a-zà-ÿ一-龥][a-zà-ÿ一-龥 ';]{0,9}\.[a-z]{3}$/),
    mediaType: fc.constantFrom("image/png", "image/gif"),
  },
  { requiredKeys: ["base64"] },
);

function argumentsOf({ parameters = [], requestBody }: DescribedOperation): fc.Arbitrary<Arguments> {
  const body = Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => {
    const ofType = schema ?? { ...FILE };
    // A mark at the beginning of a text is no part of what is read.
    const isText = type.startsWith("text/");
    return ["body", isText ? text.filter((one) => !one.startsWith("\uFEFF")) : arbitraryOf(ofType)] as const;
  });
  const others = parameters.map(({ name, schema, content }) => {
    // `null` stands for a parameter that is not there.
    const all = arbitraryOf(schema ?? Object.values(content ?? {})[0]?.schema ?? {}).filter((one) => one !== null);
    return [name, all] as const;
  });
  const required = parameters.filter((one) => one.required === true).map(({ name }) => name);
  return fc.record(Object.fromEntries([...others, ...body]), {
    requiredKeys: [...required, ...body.map(([name]) => name)],
  });
}

function arbitraryOf({
  type,
  format,
  pattern,
  items = {},
  minItems = 0,
  properties = {},
  required = [],
}: DescribedSchema): fc.Arbitrary<unknown> {
  if (format === "binary") return file;
  if (pattern !== undefined)
    return pattern.includes("[^]")
      ? text.filter((one) => new RegExp(pattern).test(one))
      : fc.stringMatching(new RegExp(pattern));
  switch (type) {
    case "string":
      return text;
    case "integer":
      return fc.integer();
    case "number":
      return number;
    case "boolean":
      return fc.boolean();
    case "array":
      return fc.array(arbitraryOf(items), { minLength: minItems, maxLength: 4 });
    case "object": {
      const members = Object.entries(properties).map(([name, one]) => [name, arbitraryOf(one)] as const);
      return fc.record(Object.fromEntries(members), { requiredKeys: [...required], noNullPrototype: true });
    }
    default:
      return json;
  }
}

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const isFile = (value: unknown): value is { base64: string; filename?: string; mediaType?: string } =>
  typeof value === "object" && value !== null && "base64" in value;
/** A list of one item as the item: both are written so. */
const lone = (value: unknown): unknown => (Array.isArray(value) && value.length === 1 ? value[0] : value);

function record<Value>(
  object: object,
  change: (name: string, value: unknown) => Value | undefined,
): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) => {
      const changed = change(name, value);
      return changed === undefined ? [] : [[name, changed] as const];
    }),
  );
}

/** What the server has read, of what the document describes. */
function readOf({ parameters = [] }: DescribedOperation, received: Received): object {
  const named = (place: string) => parameters.filter((one) => one.in === place).map(({ name }) => name);
  const whole = parameters.find((one) => one.in === "querystring")?.content ?? {};
  const isJson = "application/json" in whole;
  return {
    ...received,
    type: received.type?.replace(/; boundary=.*/, "") ?? null,
    query: isJson ? JSON.parse(received.querystring) : record(received.query as object, (_name, value) => lone(value)),
    querystring: null,
    header: record(received.header, (name, value) => (named("header").includes(name) ? value : undefined)),
    body:
      received.type?.includes("urlencoded") === true
        ? record(received.body as object, (_name, value) => lone(value))
        : received.body,
  };
}

function expectedOf(
  { method, parameters = [], requestBody }: DescribedOperation & { method: string },
  args: Arguments,
): object {
  const [type = null] = Object.keys(requestBody?.content ?? {});
  const found: Record<string, Record<string, unknown>> = { path: {}, query: {}, header: {}, cookie: {} };
  let query: unknown;
  for (const { name, in: place, style, content, schema } of parameters) {
    const value = args[name];
    if (value === undefined) continue;
    const isList = schema?.type === "array";
    if (place === "querystring") query = content?.["application/json"] === undefined ? formOf(value as object) : value;
    else if (content !== undefined) (found[place] ?? {})[name] = JSON.stringify(value);
    else if (style === "deepObject") (found[place] ?? {})[name] = deepTexts(value);
    else if (isList && name === "list") Object.assign(found[place] ?? {}, record({ list: value }, asEntry));
    else if (!isList || (value as []).length > 0)
      (found[place] ?? {})[name] = isList ? (value as []).join(",") : shown(value);
  }
  return plain({
    method,
    ...found,
    query: query ?? found["query"],
    querystring: null,
    type: type === null ? null : sentType(type, args["body"]),
    body: type === null ? { base64: "" } : bodyOf(type, args["body"]),
  });
}

function plain(value: unknown): object {
  return JSON.parse(JSON.stringify(value)) as object;
}

function sentType(type: string, body: unknown): unknown {
  const isOpen = type === "image/*" || type === "application/octet-stream";
  return isOpen ? ((isFile(body) ? body.mediaType : undefined) ?? "application/octet-stream") : type;
}

function bodyOf(type: string, body: unknown): unknown {
  if (type === "multipart/form-data")
    return Object.entries(body as object).flatMap(([name, value]) => partsOf(name, value));
  if (type.includes("urlencoded")) return formOf(body as object);
  return isFile(body) && !type.includes("json") ? { base64: body.base64 } : body;
}

function formOf(body: object): object {
  return record(body, (name, value) => (name === "codes" ? joined(value) : asEntry(name, value)));
}

function joined(codes: unknown): string | undefined {
  return (codes as string[]).length === 0 ? undefined : (codes as string[]).join("|");
}

/** Texts of a member that is sent as it is by default. */
function asEntry(_name: string, value: unknown): unknown {
  if (!Array.isArray(value)) return shown(value);
  return value.length === 0 ? undefined : lone(value.map(shown));
}

function deepTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(deepTexts);
  return typeof value === "object" && value !== null ? record(value, (_name, one) => deepTexts(one)) : shown(value);
}

/** The parts of a form, as name, media type and value. */
function partsOf(name: string, value: unknown): unknown[] {
  const code = name === "codes" ? joined(value) : undefined;
  const all: unknown[] = name === "codes" ? (code === undefined ? [] : [code]) : [value].flat();
  return all.map((one) => {
    if (isFile(one)) {
      const type = one.mediaType ?? (name === "page" ? "text/html" : "application/octet-stream");
      return [name, type, { filename: one.filename ?? "file", base64: one.base64 }];
    }
    const isJson = name === "meta" || typeof one === "object";
    return [name, isJson ? "application/json" : "text/plain", isJson ? one : shown(one)];
  });
}

function mirrored({ requestBody }: DescribedOperation, { body }: Arguments): unknown {
  const [type = ""] = Object.keys(requestBody?.content ?? {});
  if (type.includes("json")) return JSON.parse(JSON.stringify(body));
  return isFile(body) ? { base64: body.base64, mediaType: sentType(type, body) } : body;
}
