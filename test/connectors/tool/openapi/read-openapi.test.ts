import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { isObject, type JsonSchema, memberOf } from "../../../../src/kernel/base/json.ts";
import { compileSchema } from "../../../../src/kernel/base/schema/schema.ts";
import { requestOf } from "../../../../src/connectors/guest/openapi.ts";
import type { OpenApiOperation } from "../../../../src/kernel/guest/host.ts";
import { type OpenApiOptions, readOpenApi } from "../../../../src/connectors/tool/openapi/read-openapi.ts";
import type { RemoteTool } from "../../../../src/connectors/tool/remote-tool.ts";

type Json = { readonly [key: string]: unknown };

const OK = { "200": { description: "", content: { "application/json": { schema: { type: "object" } } } } };
const OPTIONS: OpenApiOptions = { connector: "crm" };

/** A document with these paths. */
function documentOf(paths: Json, more: Json = {}): string {
  const head = {
    openapi: "3.1.0",
    info: { title: "crm", version: "1" },
    servers: [{ url: "https://crm.example/v1/" }],
  };
  return JSON.stringify({ ...head, paths, ...more });
}

function read(paths: Json, more: Json = {}, options: Partial<OpenApiOptions> = {}): ReturnType<typeof readOpenApi> {
  return readOpenApi(documentOf(paths, more), { ...OPTIONS, ...options });
}

/** The tool of one operation, `get /things` unless it says otherwise. */
function toolOf(operation: Json, path = "/things", method = "get", more: Json = {}): RemoteTool {
  const { tools, findings } = read({ [path]: { [method]: { responses: OK, ...operation } } }, more);
  const [tool] = tools;
  if (tool === undefined) throw new Error(JSON.stringify(findings));
  return tool;
}

/** The reason for which the only operation is left out. */
function reasonFor(operation: Json, path = "/things", method = "get", more: Json = {}): string | undefined {
  const { tools, findings } = read({ [path]: { [method]: { responses: OK, ...operation } } }, more);
  expect(tools).toEqual([]);
  return findings[0]?.reason;
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce(memberOf, value);
}

function propertyOf(tool: RemoteTool, name: string): unknown {
  return at(tool.inputSchema, "properties", name);
}

function violations(schema: JsonSchema | undefined, value: unknown): readonly unknown[] {
  return compileSchema(schema ?? true, "inputSchema").check(value);
}

describe("a document", () => {
  const paths = { "/users/{id}": { get: { responses: OK } } };

  it("is JSON or YAML, of 3.0, 3.1 or 3.2", () => {
    for (const openapi of ["3.0.0", "3.0.3", "3.1.0", "3.1.1", "3.2.0"]) {
      const text = documentOf(paths, { openapi });
      const yaml = stringify(JSON.parse(text));
      expect(readOpenApi(yaml, OPTIONS)).toEqual(readOpenApi(text, OPTIONS));
      expect(readOpenApi(`\uFEFF${text}`, OPTIONS).tools.map(({ name }) => name)).toEqual(["get_users_id"]);
    }
  });

  it.each([
    ["", "is not an object"],
    ["[]", "is not an object"],
    ["{", "is not JSON"],
    ["a: [", "is not YAML"],
    ['{"swagger":"1.2"}', "has the version Swagger 1.2; take one of OpenAPI 3.0 to 3.2, or of Swagger 2.0"],
    ['{"openapi":3.1}', "has the version 3.1"],
    ['{"openapi":"4.0.0"}', "has the version 4.0.0"],
    ['{"openapi":"3.1.0","paths":{}}', "names no server; set `server` of the connector to its URL"],
  ])("%j is refused with what to do", (text, problem) => {
    expect(() => readOpenApi(text, OPTIONS)).toThrow(problem);
  });

  it("is refused where it is too long to be read", () => {
    expect(() => readOpenApi(" ".repeat(48 * 1024 * 1024 + 1), OPTIONS)).toThrow("is longer than 50331648 characters");
    expect(() => readOpenApi(`{"a":[${"[],".repeat(1_000_000)}[]]}`, OPTIONS)).toThrow("more than 2000000 values");
    expect(() => readOpenApi("- a\n".repeat(60_000), OPTIONS)).toThrow("convert it to JSON, which is read faster");
    expect(() => readOpenApi(`{"a":${"[".repeat(2_000)}`, OPTIONS)).toThrow("nested deeper than 1000 levels");
  });
});

describe("the server", () => {
  const serverOf = (servers: unknown, server?: string): string =>
    read({ "/a": {} }, { servers }, server === undefined ? {} : { server }).server;

  it("is the first of the document, with the defaults of its variables, else the operator's", () => {
    const variables = { region: { default: "eu", enum: ["eu", "us"] }, port: { default: "8443" } };
    expect(serverOf([{ url: "https://{region}.crm.example:{port}/v1/", variables }])).toBe(
      "https://eu.crm.example:8443/v1",
    );
    expect(serverOf([{ url: "https://crm.example" }, { url: "https://other.example" }])).toBe("https://crm.example");
    expect(serverOf([{ url: "https://crm.example" }], "http://127.0.0.1:8080/api/")).toBe("http://127.0.0.1:8080/api");
    expect(serverOf([{ url: "/v1" }], "https://crm.example/v1")).toBe("https://crm.example/v1");
  });

  it.each([
    [[{ url: "/v1" }], "names the server /v1, which is relative; set `server`"],
    [[{ url: "//crm.example" }], "which is relative"],
    [[{ url: "{scheme}://crm.example" }], "which is relative"],
    [[{ url: "https://{host}/" }], "is not an http or https URL"],
    [[{ url: "https://user:pass@crm.example" }], "has more than an origin and a path"],
    [[{ url: "https://crm.example/?key=1" }], "has more than an origin and a path"],
  ])("%j is refused", (servers, problem) => {
    expect(() => serverOf(servers)).toThrow(problem);
  });

  it.each([
    [undefined, "https://crm.example:8443"],
    [[{ url: "" }], "https://crm.example:8443"],
    [[{ url: "/v1/" }], "https://crm.example:8443/v1"],
    [[{ url: "../v1" }], "https://crm.example:8443/v1"],
    [[{ url: "//other.example/v1" }], "https://other.example/v1"],
    [[{ url: "http://other.example" }], "http://other.example"],
  ])("%j of a document by URL may be relative to it", (servers, expected) => {
    const location = "https://crm.example:8443/docs/openapi.json?version=1";
    expect(read({ "/a": {} }, { servers }, { location }).server).toBe(expected);
  });

  it("of a document by URL is the operator's where he names one", () => {
    const options = { location: "https://docs.example/openapi.json", server: "https://crm.example" };
    expect(read({ "/a": {} }, { servers: [{ url: "/v1" }] }, options).server).toBe("https://crm.example");
  });

  it("of a path or of an operation leaves that out where it is another", () => {
    const servers = [{ url: "https://upload.example" }];
    expect(reasonFor({ servers })).toBe("it has a server of its own, https://upload.example");
    expect(toolOf({ servers: [{ url: "https://crm.example/v1/" }] }).name).toBe("get_things");
    for (const url of ["http://crm.example/v1", "//crm.example/v1/"]) toolOf({ servers: [{ url }] });
    const own = read({ "/a": { servers, get: { responses: OK, servers: [{ url: "https://crm.example/v1" }] } } });
    expect(own.tools).toHaveLength(1);
  });
});

describe("a tool", () => {
  it("is named by its operationId, else by its method and path", () => {
    expect(toolOf({ operationId: "listThings" }).name).toBe("listThings");
    expect(toolOf({ operationId: "" }, "/users/{id}/repos.json", "delete").name).toBe("delete_users_id_repos_json");
    expect(toolOf({}, "/").name).toBe("get");
  });

  it("says what the document says of it", () => {
    const { description, annotations } = toolOf({
      summary: "Lists",
      description: "Lists\u202e all  things.\n",
      deprecated: true,
    });
    expect(description).toBe("Deprecated.\nLists\nLists all things.");
    expect(annotations.title).toBe("Lists");
  });

  it("says its method and path where the document says nothing of it", () => {
    expect(toolOf({}, "/users/{id}", "delete").description).toBe("DELETE /users/{id}");
  });

  it.each([
    ["get", { readOnly: true, idempotent: true }, true, true],
    ["head", { readOnly: true, idempotent: true }, true, true],
    ["put", { readOnly: false, destructive: false, idempotent: true }, false, true],
    ["delete", { readOnly: false, destructive: true, idempotent: true }, false, true],
    ["post", { readOnly: false, destructive: false, idempotent: false }, false, false],
    ["patch", { readOnly: false, destructive: false, idempotent: false }, false, false],
    ["query", { readOnly: true, idempotent: true }, true, true],
  ])("of %s has the annotations of its method", (method, promises, isRead, isRepeatable) => {
    const { annotations, operation } = toolOf({}, "/things", method);
    expect(annotations).toEqual({ ...promises, openWorld: true });
    expect(operation).toMatchObject({ method: method.toUpperCase(), isRead, isRepeatable });
  });

  it("is taken only where the connector wants it", () => {
    const paths = {
      "/a": { get: { operationId: "a" } },
      "/b": { get: { operationId: "b" }, post: { operationId: "c" } },
    };
    const { tools } = read(paths, {}, { isWanted: (name) => name !== "b" });
    expect(tools.map(({ name }) => name)).toEqual(["a", "c"]);
  });
});

describe("parameters", () => {
  const of = (...parameters: readonly Json[]): RemoteTool => toolOf({ parameters }, "/things/{id}");
  const text = { type: "string" };

  it("are properties of one object, with those of the path", () => {
    const item = { parameters: [{ name: "id", in: "path", required: true, schema: text, description: "Its id" }] };
    const get = { parameters: [{ name: "limit", in: "query", schema: { type: "integer" } }], responses: OK };
    const [tool] = read({ "/things/{id}": { ...item, get } }).tools;
    expect(tool?.inputSchema).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { id: { type: "string", description: "Its id" }, limit: { type: "integer" } },
      required: ["id"],
      additionalProperties: false,
    });
    expect(tool?.operation).toMatchObject({
      path: "/things/{id}",
      parameters: [
        { name: "id", property: "id", in: "path", style: "simple", isExploded: false },
        { name: "limit", property: "limit", in: "query", style: "form", isExploded: true },
      ],
    });
  });

  it("of an operation replace those of its path", () => {
    const item = { parameters: [{ name: "page", in: "query", required: true, schema: text }] };
    const get = { parameters: [{ name: "page", in: "query", schema: { type: "integer" } }], responses: OK };
    expect(read({ "/things": { ...item, get } }).tools[0]?.inputSchema).toMatchObject({
      properties: { page: { type: "integer" } },
    });
  });

  it("with one name have their place before it", () => {
    const tool = of({ name: "id", in: "query", schema: text }, { name: "body", in: "query", schema: text });
    expect(Object.keys((at(tool.inputSchema, "properties") ?? {}) as object)).toEqual([
      "query_id",
      "query_body",
      "path_id",
    ]);
    expect(at(tool.inputSchema, "required")).toEqual(["path_id"]);
    const taken = [
      { name: "id", in: "query" },
      { name: "query_id", in: "header" },
    ];
    expect(reasonFor({ parameters: taken }, "/things/{id}")).toBe("two of its parameters would be query_id");
    const twice = [
      { name: "a", in: "query" },
      { name: "a", in: "query" },
    ];
    expect(reasonFor({ parameters: twice })).toBe("the query a is described twice");
  });

  it("that only the connector or the host sends are no arguments", () => {
    const parameters = ["x-key", "Accept", "Authorization", "content-type"].map((name) => {
      return { name, in: "header", required: true, schema: text };
    });
    const get = { parameters: [...parameters, { name: "api_key", in: "query", required: true }], responses: OK };
    const { tools } = read({ "/things": { get } }, {}, { headers: ["X-Key"], query: ["api_key"] });
    expect(at(tools[0]?.inputSchema, "properties")).toEqual({});
    const ofRequests = ["Host", "Content-Length", "Accept-Encoding"].map((name) => {
      return { name, in: "header", required: true, schema: text };
    });
    expect(at(of(...ofRequests).inputSchema, "properties")).toEqual({ id: { type: "string" } });
    expect(reasonFor({ parameters: [{ name: "Origin", in: "header", required: true }] })).toBe(
      "only the host sets this header",
    );
  });

  it("name the header that makes a call repeatable", () => {
    const tool = of({ name: "Idempotency-Key", in: "header", required: true, schema: text });
    expect(tool.operation).toMatchObject({ idempotencyHeader: "Idempotency-Key" });
    const posted = toolOf({ parameters: [{ name: "idempotency-key", in: "header" }] }, "/things", "post");
    expect(posted.operation).toMatchObject({ idempotencyHeader: "idempotency-key", isRepeatable: true });
    expect(posted.annotations).toMatchObject({ idempotent: false });
    expect(propertyOf(tool, "Idempotency-Key")).toBeUndefined();
  });

  it("that cannot be represented are left out, with the operation where it needs them", () => {
    const odd = { name: "session id", in: "cookie", schema: text };
    const { tools, findings } = read({ "/things": { get: { parameters: [odd], responses: OK } } });
    expect(tools).toHaveLength(1);
    const reason = "it is no name of a cookie";
    expect(findings).toEqual([{ tool: "get_things", reason: `without the parameter session id: ${reason}` }]);
    expect(reasonFor({ parameters: [{ ...odd, required: true }] })).toBe(reason);
    const broken = { name: "id", in: "path", required: true, style: "deepObject", schema: text };
    expect(reasonFor({ parameters: [broken] }, "/things/{id}")).toBe("its style is deepObject");
    const xml = { name: "q", in: "query", required: true, content: { "application/xml": {} } };
    expect(reasonFor({ parameters: [xml] })).toBe("its media type is application/xml");
  });

  it("have the styles of the specification", () => {
    const filter = { name: "filter", in: "query", style: "deepObject", explode: true, schema: { type: "object" } };
    const where = { name: "where", in: "query", content: { "application/json": { schema: { type: "array" } } } };
    const ids = { name: "ids", in: "query", style: "pipeDelimited", schema: { type: "array" } };
    const matrix = { name: "color", in: "path", required: true, style: "matrix", explode: true, schema: text };
    const cookie = { name: "session", in: "cookie", schema: text };
    const path = { name: "file", in: "query", allowReserved: true, schema: text };
    expect(toolOf({ parameters: [matrix, cookie, path] }, "/things/{color}").operation).toMatchObject({
      parameters: [
        { in: "path", style: "matrix", isExploded: true },
        { in: "cookie", style: "form" },
        { in: "query", isReserved: true },
      ],
    });
    expect(of(filter, where, ids).operation).toMatchObject({
      parameters: [{ style: "deepObject" }, { style: "json" }, { style: "pipeDelimited", isExploded: false }, {}],
    });
    expect(propertyOf(of(where), "where")).toEqual({ type: "array" });
  });
});

describe("a path", () => {
  const query = (name: string): Json => ({ name, in: "query", required: true, schema: { type: "string" } });

  it.each([
    ["/#Action=List", [query("Action")], { Action: "List" }, "/?Action=List"],
    ["/files/{id}#add_link", [], { id: "7" }, "/files/7"],
    ["/rest?method=find", [query("q")], { q: "a b" }, "/rest?method=find&q=a%20b"],
    ["/rest?method=find", [query("method")], {}, "/rest?method=find"],
    ["/a?lat={lat}&lon={lon}", [query("lat"), query("lon")], { lat: "1", lon: "2" }, "/a?lat=1&lon=2"],
    ["/a?key={KEY}", [{ ...query("KEY"), in: "path" }], { KEY: "x&y" }, "/a?key=x%26y"],
  ] as const)("%s, which has a fragment or a query, is sent as what it means", (path, parameters, args, target) => {
    const { inputSchema, operation } = toolOf({ parameters }, path);
    expect(violations(inputSchema, args)).toEqual([]);
    expect(requestOf(operation as OpenApiOperation, args).target).toBe(target);
  });

  it("keeps operations apart by its fragment", () => {
    const { tools } = read({ "/#A": { get: { responses: OK } }, "/#B": { get: { responses: OK } } });
    expect(tools.map(({ name }) => name)).toEqual(["get_A", "get_B"]);
  });

  it("is no name of an extension", () => {
    expect(read({ "x-root": "/api" })).toMatchObject({
      tools: [],
      findings: [{ reason: "the document has no paths" }],
    });
  });

  it.each(["a", "/a b", "/a/../b", "/a/%2e%2e", "/a\\b", "/#env/{id}", "/a?b?c", "/a?b c", `/${"a".repeat(1_000)}`])(
    "%s cannot be sent",
    (path) => {
      expect(reasonFor({}, path)).toBe("its path cannot be sent");
    },
  );
});

describe("what OpenAPI 3.2 adds", () => {
  const whole = (type: string, content: Json, more: Json = {}): OpenApiOperation => {
    const parameters = [{ in: "querystring", name: "q", content: { [type]: content }, ...more }];
    return toolOf({ parameters }).operation as OpenApiOperation;
  };
  const queryOf = (operation: OpenApiOperation, q: unknown): string =>
    requestOf(operation, { q }).target.slice("/things?".length);

  it("is a query with a body, and operations of other methods, which may have any effect", () => {
    const requestBody = { required: true, content: { "application/json": { schema: { type: "object" } } } };
    expect(toolOf({ requestBody }, "/things", "query").operation).toMatchObject({
      method: "QUERY",
      body: { mediaType: "application/json" },
    });
    const additionalOperations = { COPY: { responses: OK }, CONNECT: { responses: OK }, "A B": { responses: OK } };
    const { tools, findings } = read({ "/things/{id}": { additionalOperations } });
    expect(tools.map(({ name }) => name)).toEqual(["copy_things_id"]);
    expect(tools[0]?.operation).toMatchObject({ method: "COPY", isRead: false, isRepeatable: false });
    expect(tools[0]?.annotations).toEqual({ readOnly: false, idempotent: false, openWorld: true });
    expect(findings.map(({ reason }) => reason)).toEqual(["CONNECT is not sent", "A B is not sent"]);
  });

  it("is a parameter that is the whole query, as in the specification's examples", () => {
    const json = whole("application/json", { schema: { type: "object" } });
    expect(queryOf(json, { numbers: [1, 2], flag: null })).toBe(
      "%7B%22numbers%22%3A%5B1%2C2%5D%2C%22flag%22%3Anull%7D",
    );
    expect(queryOf(whole("application/jsonpath", { schema: { type: "string" } }), "$.a.b[1:1]")).toBe(
      "%24.a.b%5B1%3A1%5D",
    );
    const form = whole("application/x-www-form-urlencoded", { schema: { type: "object" } });
    expect(queryOf(form, { foo: "a + b", bar: true })).toBe("foo=a%20%2B%20b&bar=true");
    const encoding = { tags: { style: "pipeDelimited", explode: false } };
    expect(queryOf(whole("application/x-www-form-urlencoded", { encoding }), { tags: ["x", "y"] })).toBe("tags=x%7Cy");
    expect(() => queryOf(form, "a")).toThrow("q must be an object: it is sent as a form");
    const nameless = toolOf({ parameters: [{ in: "querystring", required: true, content: { "text/plain": {} } }] });
    expect(nameless.inputSchema).toMatchObject({
      required: ["querystring"],
      properties: { querystring: { type: "string" } },
    });
    expect(reasonFor({ parameters: [{ in: "querystring", required: true, schema: {} }] })).toBe(
      "its query has no media type",
    );
  });

  it("is a body by reference", () => {
    const mediaTypes = { Thing: { schema: { type: "array" } } };
    const content = { "application/json": { $ref: "#/components/mediaTypes/Thing" } };
    const tool = toolOf({ requestBody: { content } }, "/things", "post", { components: { mediaTypes } });
    expect(propertyOf(tool, "body")).toEqual({ type: "array" });
  });

  it.each(["application/jsonl", "application/x-ndjson", "application/json-seq", "application/geo+json-seq"])(
    "are items of %s, which stay one text, and that is told",
    (type) => {
      const content = { [type]: { itemSchema: { type: "object" } } };
      const { tools, findings } = read({
        "/a": { post: { requestBody: { content }, responses: { 200: { content } } } },
      });
      expect(propertyOf(tools[0] ?? toolOf({}), "body")).toEqual({ type: "string" });
      expect(tools[0]?.outputSchema).toMatchObject({ type: "string" });
      expect(findings.map(({ reason }) => reason)).toEqual(
        ["its body", "its answer"].map(
          (subject) => `${subject} is a sequence of items, ${type}: it is one text, whose items are not checked`,
        ),
      );
    },
  );
});

describe("a body", () => {
  const post = (requestBody: Json): RemoteTool => toolOf({ requestBody }, "/things", "post");
  const takes = (...types: readonly string[]): Json => ({
    content: Object.fromEntries(types.map((type) => [type, { schema: { type: "object" } }])),
  });

  it.each([
    [
      ["application/xml", "application/vnd.crm+json", "application/x-www-form-urlencoded"],
      "application/vnd.crm+json",
      "json",
    ],
    [["multipart/form-data", "application/x-www-form-urlencoded"], "application/x-www-form-urlencoded", "form"],
    [["*/*"], "application/json", "json"],
    [["text/markdown"], "text/markdown", "text"],
    [["text/*"], "text/plain", "text"],
  ])("of %j is sent as %s", (types, mediaType, encoding) => {
    const { operation, inputSchema } = post({ ...takes(...types), required: true });
    expect(operation).toMatchObject({ body: { property: "body", mediaType, encoding, fields: [] } });
    expect(at(inputSchema, "required")).toEqual(["body"]);
    expect(at(inputSchema, "properties", "body")).toEqual({ type: encoding === "text" ? "string" : "object" });
  });

  it.each([
    ["application/octet-stream", "application/octet-stream"],
    ["image/png", "image/png"],
    ["application/cbor", "application/cbor"],
    ["image/*", "application/octet-stream"],
  ])("of %s is a file, sent as %s", (type, mediaType) => {
    const { operation, inputSchema } = post({ ...takes(type), required: true });
    expect(operation).toMatchObject({ body: { property: "body", mediaType, encoding: "bytes" } });
    expect(at(inputSchema, "properties", "body", "required")).toEqual(["base64"]);
  });

  it("of multipart/form-data has files where its schema says binary", () => {
    const properties = {
      name: { type: "string" },
      photo: { type: "string", format: "binary" },
      scan: { type: "string", contentMediaType: "application/pdf" },
      pages: { type: "array", items: { type: "string", format: "binary" } },
    };
    const content = { "multipart/form-data": { schema: { type: "object", properties } } };
    const { operation, inputSchema } = post({ content });
    expect(operation).toMatchObject({ body: { mediaType: "multipart/form-data", encoding: "multipart" } });
    const body = at(inputSchema, "properties", "body", "properties");
    expect(at(body, "name")).toEqual({ type: "string" });
    for (const file of [at(body, "photo"), at(body, "scan"), at(body, "pages", "items")])
      expect(at(file, "required")).toEqual(["base64"]);
  });

  it.each([
    ["an optional file", { anyOf: [{ $ref: "#/components/schemas/Bin" }, { type: "null" }] }, { base64: "/wD/" }],
    ["no optional file", { type: "string", format: "binary", nullable: true }, null],
    [
      "an optional list of files",
      { anyOf: [{ type: "array", items: { format: "binary" } }, { type: "null" }] },
      [{ base64: "" }],
    ],
    ["a file by reference", { $ref: "#/components/schemas/Bin" }, { base64: "/wD/" }],
    ["files by reference", { type: "array", items: { $ref: "#/components/schemas/Bin" } }, [{ base64: "/wD/" }]],
  ])("of multipart/form-data takes %s of a form in parts", (_what, member, value) => {
    const form = { type: "object", properties: { self: { $ref: "#/components/schemas/Self" }, member } };
    const self = { anyOf: [{ type: "string" }, { items: { $ref: "#/components/schemas/Self" } }] };
    const schemas = { Bin: { type: "string", format: "binary" }, Form: form, Self: self };
    const schema = { allOf: [{ $ref: "#/components/schemas/Form" }] };
    const operation = { requestBody: { content: { "multipart/form-data": { schema } } } };
    const { inputSchema } = toolOf(operation, "/things", "post", { components: { schemas } });
    expect(violations(inputSchema, { body: { self: ["a"], member: value } })).toEqual([]);
    expect(violations(inputSchema, { body: { self: ["a"], member: "ÿ" } })).not.toEqual([]);
  });

  it("has the styles of its form", () => {
    const encoding = { tags: { style: "form", explode: false }, meta: { contentType: "application/json" } };
    const content = { "application/x-www-form-urlencoded": { schema: { type: "object" }, encoding } };
    expect(post({ content }).operation).toMatchObject({
      body: {
        fields: [
          { name: "tags", style: "form", isExploded: false },
          { name: "meta", style: "json" },
        ],
      },
    });
  });

  it("has the media types of its parts, where the document names one", () => {
    const encoding = {
      meta: { contentType: "application/json" },
      page: { contentType: "text/html, text/plain" },
      photo: { contentType: "image/*" },
      tags: { contentType: "text/plain", explode: false },
    };
    const { operation } = post({ content: { "multipart/form-data": { schema: { type: "object" }, encoding } } });
    expect(operation).toMatchObject({
      body: {
        fields: [
          { name: "meta", style: "json", isExploded: true, mediaType: "application/json" },
          { name: "page", style: "form", isExploded: true, mediaType: "text/html" },
          { name: "tags", style: "form", isExploded: false },
        ],
      },
    });
  });

  it("has its media type without parameters that no header has", () => {
    expect(post(takes("text/plain; utf-8")).operation).toMatchObject({ body: { mediaType: "text/plain" } });
  });

  it("of a GET is not sent", () => {
    expect(toolOf({ requestBody: takes("application/json") }).operation).toMatchObject({ body: null });
    expect(reasonFor({ requestBody: { ...takes("application/json"), required: true } })).toBe(
      "it takes a body with GET",
    );
  });
});

describe("answers", () => {
  const json = (schema: unknown): Json => ({ content: { "application/json": { schema } } });
  const outputOf = (responses: Json): JsonSchema | undefined => toolOf({ responses }).outputSchema;

  it("have the schema of the success, or of one of several", () => {
    expect(outputOf({ "200": json({ type: "array" }), "404": json({ type: "object" }) })).toMatchObject({
      type: "array",
    });
    expect(outputOf({ "200": json({ type: "array" }), "201": json({ type: "object" }), "204": {} })).toMatchObject({
      anyOf: [{ type: "array" }, { type: "object" }, { type: "null" }],
    });
    expect(outputOf({ "2XX": { content: { "text/csv": {} } } })).toMatchObject({ type: "string" });
  });

  it("have none where the document does not say all", () => {
    const named = { "200": { content: { PDF: { schema: { type: "string" } } } } };
    for (const responses of [
      named,
      {},
      { "200": {} },
      { default: json({ type: "object" }) },
      { "200": json(undefined) },
    ]) {
      expect(outputOf(responses)).toBeUndefined();
    }
    expect(
      outputOf({ "200": json({ type: "array" }), "202": { content: { "text/event-stream": {} } } }),
    ).toBeUndefined();
  });

  it.each([
    [{ "200": { content: { "text/event-stream": {} } } }, "it answers with text/event-stream"],
    [{ "302": {} }, "it answers with a redirect only"],
  ])("of %j leave the operation out", (responses, reason) => {
    expect(reasonFor({ responses })).toBe(reason);
  });

  it("of bytes are objects with their Base64 and their media type", () => {
    expect(outputOf({ "200": { content: { "application/pdf": {} } } })).toMatchObject({
      properties: { base64: { type: "string" }, mediaType: { type: "string" } },
    });
  });

  it("are asked for as JSON where there is a choice", () => {
    const content = { "text/event-stream": {}, "application/xml": {}, "application/json": { schema: true } };
    expect(toolOf({ responses: { "200": { content } } }).operation).toMatchObject({ accept: "application/json" });
  });
});

describe("a schema", () => {
  const bodyOf = (schema: unknown, schemas: Json = {}, openapi = "3.1.0"): RemoteTool => {
    const requestBody = { required: true, content: { "application/json": { schema } } };
    return toolOf({ requestBody }, "/things", "post", { components: { schemas }, openapi });
  };
  const accepts = (tool: RemoteTool, body: unknown): boolean => violations(tool.inputSchema, { body }).length === 0;

  it("keeps its references, each with what it leads to", () => {
    const schemas = {
      Node: {
        type: "object",
        properties: { next: { $ref: "#/components/schemas/Node" }, leaf: { $ref: "#/components/schemas/a~1b" } },
      },
      "a/b": { type: "integer" },
      Other: { type: "null" },
    };
    const tool = bodyOf({ $ref: "#/components/schemas/Node" }, schemas);
    expect(Object.keys(at(tool.inputSchema, "$defs") as object)).toEqual(["Node", "a_1b"]);
    expect(accepts(tool, { next: { next: { leaf: 1 } } })).toBe(true);
    expect(accepts(tool, { next: { next: { leaf: "1" } } })).toBe(false);
  });

  it("that refers to another document, or nowhere, is one of any value, and that is told", () => {
    const requestBody = (schema: Json): Json => ({ content: { "application/json": { schema } } });
    const reason = ($ref: string): string | undefined => {
      const { tools, findings } = read({ "/things": { post: { responses: OK, requestBody: requestBody({ $ref }) } } });
      expect(tools).toHaveLength(1);
      return findings[0]?.reason;
    };
    expect(reason("https://evil.example/a.json")).toBe(
      "any value is taken in a place where it refers to https://evil.example/a.json, outside of the document",
    );
    const { tools } = read({
      "/things": {
        post: { requestBody: requestBody({ properties: { a: { $ref: "#/nowhere" }, b: { type: "string" } } }) },
      },
    });
    expect(at(tools[0]?.inputSchema, "$defs", "nowhere")).toBe(true);
    expect(reason("file:///etc/passwd")).toContain("outside of the document");
    expect(reason("other.yaml#/A")).toContain("outside of the document");
    expect(reason("#/components/schemas/None")).toContain("which is not there");
    expect(reason("#/__proto__")).toContain("which is not there");
  });

  it("that is only itself leaves the operation out", () => {
    const schemas = { A: { allOf: [{ $ref: "#/components/schemas/B" }] }, B: { $ref: "#/components/schemas/A" } };
    const content = { "application/json": { schema: { $ref: "#/components/schemas/A" } } };
    const reason = reasonFor({ requestBody: { content } }, "/things", "post", { components: { schemas } });
    expect(reason).toBe("its schemas refer to each other without end");
  });

  it("of 2^20 paths is as long as its document", () => {
    const level = (name: string): Json => ({
      allOf: [{ $ref: `#/components/schemas/${name}` }, { $ref: `#/components/schemas/${name}` }],
    });
    const levels = Array.from({ length: 20 }, (_, depth) => [`L${depth}`, level(`L${depth + 1}`)] as const);
    const tool = bodyOf(
      { $ref: "#/components/schemas/L0" },
      { ...Object.fromEntries(levels), L20: { type: "object" } },
    );
    expect(JSON.stringify(tool.inputSchema).length).toBeLessThan(3_000);
  });

  it("of 3.0 means what it meant there", () => {
    const properties = {
      name: { type: "string", nullable: true },
      kind: { type: "string", enum: ["a"], nullable: true },
      owner: { nullable: true, allOf: [{ $ref: "#/components/schemas/Owner" }] },
      state: { nullable: true, enum: ["on", "off"] },
      note: { nullable: true, maxLength: 3 },
      age: { type: "integer", minimum: 0, exclusiveMinimum: true },
      example: { type: "string" },
    };
    const tool = bodyOf({ type: "object", properties }, { Owner: { type: "object", required: ["id"] } }, "3.0.3");
    expect(accepts(tool, { name: null, kind: null, owner: null, state: null, note: null, age: 1, example: "x" })).toBe(
      true,
    );
    for (const wrong of [{ state: "other" }, { note: "long" }]) expect(accepts(tool, wrong)).toBe(false);
    expect(accepts(tool, { age: 0 })).toBe(false);
    expect(accepts(tool, { owner: {} })).toBe(false);
    expect(accepts(tool, { example: 1 })).toBe(false);
  });

  it("says a default, and fills in none: a change would overwrite what it does not name", () => {
    const tool = bodyOf({
      type: "object",
      properties: { private: { type: "boolean", default: false, description: "Hidden" } },
    });
    const body = {};
    expect(violations(tool.inputSchema, { body })).toEqual([]);
    expect(body).toEqual({});
    expect(at(tool.inputSchema, "properties", "body", "properties", "private")).toEqual({
      type: "boolean",
      description: "Hidden. Default: false",
    });
  });

  it("says a default also behind a long description", () => {
    const long = { type: "integer", default: 30, description: "Items of a page. ".repeat(50) };
    const tool = toolOf({ parameters: [{ name: "limit", in: "query", schema: long, description: "x".repeat(500) }] });
    expect(at(tool.inputSchema, "properties", "limit", "description")).toMatch(/^x{180,190}… Default: 30$/);
    const body = bodyOf({ type: "object", properties: { limit: long } });
    expect(at(body.inputSchema, "properties", "body", "properties", "limit", "description")).toMatch(/… Default: 30$/);
  });

  it("has no properties that only the other side sends", () => {
    const schema = {
      type: "object",
      required: ["id", "name", "secret"],
      properties: { id: { $ref: "#/components/schemas/Id" }, name: {}, secret: { type: "string", writeOnly: true } },
    };
    const content = { "application/json": { schema } };
    const operation = { requestBody: { required: true, content }, responses: { "200": { content } } };
    const components = { schemas: { Id: { type: "integer", readOnly: true } } };
    const { inputSchema, outputSchema } = toolOf(operation, "/things", "post", { components });
    expect(at(inputSchema, "properties", "body", "required")).toEqual(["name", "secret"]);
    expect(at(outputSchema, "required")).toEqual(["id", "name"]);
  });

  it("refuses nothing that a server may accept, where it is not well written", () => {
    const schema = {
      type: ["object", "file"],
      required: true,
      properties: {
        a: { type: "int", minimum: "0", pattern: "(", enum: [], items: "string" },
        b: {
          oneOf: [{ type: "object" }, { type: "object", properties: { x: {} } }],
          discriminator: { propertyName: "x" },
        },
        c: "string",
      },
      xml: { name: "x" },
      "x-internal": true,
    };
    const tool = bodyOf(schema);
    expect(accepts(tool, { a: -1, b: { x: 1 }, c: 1 })).toBe(true);
    expect(accepts(tool, [])).toBe(false);
  });

  it("may have properties with any name", () => {
    const properties = Object.fromEntries(
      ["constructor", "toString", "default", "$ref", "enum"].map((name) => [name, { type: "string" }]),
    );
    const text = JSON.stringify({ type: "object", properties }).replace(
      '"constructor"',
      '"__proto__":{"type":"integer"},"constructor"',
    );
    const requestBody = { required: true, content: { "application/json": { schema: "S" } } };
    const document = documentOf({ "/a": { post: { requestBody, responses: OK } } }).replace('"S"', text);
    const [tool] = readOpenApi(document, OPTIONS).tools;
    const schema = tool?.inputSchema ?? true;
    expect(violations(schema, JSON.parse('{"body":{"__proto__":1,"constructor":"a","$ref":"b"}}'))).toEqual([]);
    expect(violations(schema, JSON.parse('{"body":{"constructor":1}}'))).not.toEqual([]);
    expect(isObject({}) && "polluted" in {}).toBe(false);
  });
});

describe("a document of Swagger 2.0", () => {
  const document = {
    swagger: "2.0",
    info: { title: "Pets", version: "1" },
    host: "pets.example",
    basePath: "/v2",
    schemes: ["http", "https"],
    consumes: ["application/json"],
    produces: ["application/json"],
    parameters: { Limit: { name: "limit", in: "query", type: "integer", maximum: 10 } },
    definitions: {
      Pet: { type: "object", properties: { id: { type: "integer", format: "int64" }, name: { type: "string" } } },
    },
    paths: {
      "/pets": {
        parameters: [{ $ref: "#/parameters/Limit" }],
        get: {
          operationId: "list",
          parameters: [
            { name: "tags", in: "query", type: "array", items: { type: "string" }, collectionFormat: "multi" },
          ],
          responses: { 200: { description: "All.", schema: { type: "array", items: { $ref: "#/definitions/Pet" } } } },
        },
        post: {
          operationId: "add",
          parameters: [{ name: "pet", in: "body", required: true, schema: { $ref: "#/definitions/Pet" } }],
          responses: { 201: { description: "Done." } },
        },
      },
      "/pets/{id}/photo": {
        put: {
          operationId: "photo",
          parameters: [
            { name: "id", in: "path", required: true, type: "integer" },
            { name: "file", in: "formData", required: true, type: "file" },
            { name: "note", in: "formData", type: "string" },
          ],
          responses: { default: { description: "Done." } },
        },
      },
    },
  };

  it("is read as what it means", () => {
    const { tools, server, findings } = readOpenApi(JSON.stringify(document), { connector: "pets" });
    expect(findings).toEqual([]);
    expect(server).toBe("http://pets.example/v2");
    const [list, add, photo] = tools;
    expect(list?.operation).toMatchObject({
      parameters: [
        { name: "limit", in: "query" },
        { name: "tags", in: "query", style: "form", isExploded: true },
      ],
    });
    expect(at(list?.inputSchema, "properties", "limit", "maximum")).toBe(10);
    expect(list?.outputSchema).toMatchObject({ type: "array" });
    expect(add?.operation).toMatchObject({ body: { mediaType: "application/json", encoding: "json" } });
    expect(at(add?.inputSchema, "required")).toEqual(["body"]);
    expect(photo?.operation).toMatchObject({ body: { mediaType: "multipart/form-data", encoding: "multipart" } });
    expect(at(photo?.inputSchema, "properties", "body", "properties", "file", "required")).toEqual(["base64"]);
  });
});

describe("a list of Swagger 2.0", () => {
  const list = (place: string, collectionFormat?: string): Json => ({
    name: "arr",
    in: place,
    type: "array",
    items: { type: "string" },
    collectionFormat,
    ...(place === "path" ? { required: true } : {}),
  });
  const readList = (parameter: Json, consumes = "application/x-www-form-urlencoded") => {
    const post = { operationId: "send", consumes: [consumes], parameters: [parameter], responses: {} };
    const document = {
      swagger: "2.0",
      host: "a.example",
      paths: { [parameter["in"] === "path" ? "/{arr}" : "/"]: { post } },
    };
    const { tools, findings } = readOpenApi(JSON.stringify(document), OPTIONS);
    return { operation: tools[0]?.operation as OpenApiOperation | undefined, findings };
  };

  it.each([
    [list("formData"), "x,y"],
    [list("formData", "pipes"), "x%7Cy"],
    [list("formData", "multi"), "x&arr=y"],
    [list("query", "ssv"), "x%20y"],
  ])("is sent as its collection says: %j", (parameter, sent) => {
    const { operation, findings } = readList(parameter);
    expect(findings).toEqual([]);
    if (operation === undefined) throw new Error("no tool");
    const { target, body } = requestOf(operation, { arr: ["x", "y"], body: { arr: ["x", "y"] } });
    expect(parameter["in"] === "query" ? target : body).toBe(`${parameter["in"] === "query" ? "/?" : ""}arr=${sent}`);
  });

  it.each([
    ["csv", ["x,y"]],
    ["pipes", ["x|y"]],
    ["multi", ["x", "y"]],
  ])("in multipart/form-data is as many parts as its collection (%s) says", async (format, parts) => {
    const { operation } = readList(list("formData", format), "multipart/form-data");
    if (operation === undefined) throw new Error("no tool");
    const { body, headers } = requestOf(operation, { body: { arr: ["x", "y"] } });
    const bytes = Buffer.from(isObject(body) ? String(body["base64"]) : "", "base64");
    const form = await new Response(bytes, { headers: headers.map(([name, value]) => [name, value]) }).formData();
    expect(form.getAll("arr")).toEqual(parts);
  });

  it.each([
    [list("query", "tsv"), "without the parameter arr: its style is tsv", true],
    [list("header", "pipes"), "without the parameter arr: its style is pipes", true],
    [list("path", "pipes"), "its style is pipes", false],
    [list("formData", "tsv"), "its form has the style tsv", false],
  ])("that cannot be sent is left out, with what it is: %j", (parameter, reason, isTool) => {
    const { operation, findings } = readList(parameter);
    expect(findings).toEqual([{ tool: "send", reason }]);
    expect(operation !== undefined).toBe(isTool);
  });
});

describe("two operations with one id", () => {
  it("are both there, the later one by its method and path, and the name of the first one does not change", () => {
    const dup = { operationId: "dup", responses: OK };
    const { tools, findings } = read({ "/a": { get: dup }, "/b": { get: dup, post: dup } });
    expect(tools.map(({ name }) => name)).toEqual(["dup", "get_b", "post_b"]);
    expect(findings.map(({ tool }) => tool)).toEqual(["get_b", "post_b"]);
    expect(read({ "/a": { get: dup } }).tools.map(({ name }) => name)).toEqual(["dup"]);
  });
});

describe("security schemes", () => {
  it("are told as the auth to write, as far as they can be", () => {
    const flow = { tokenUrl: "https://auth.example/token", scopes: { read: "", write: "" } };
    const code = { ...flow, authorizationUrl: "https://auth.example/authorize" };
    const securitySchemes = {
      key: { type: "apiKey", in: "header", name: "X-Key" },
      basic: { type: "http", scheme: "Basic" },
      bearer: { type: "http", scheme: "bearer" },
      digest: { type: "http", scheme: "digest" },
      oauth: { type: "oauth2", flows: { clientCredentials: flow, authorizationCode: code, implicit: code } },
      relative: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "/token", scopes: {} } } },
      oidc: { type: "openIdConnect", openIdConnectUrl: "https://auth.example/.well-known/openid-configuration" },
      pointer: { $ref: "#/components/securitySchemes/bearer" },
      none: null,
    };
    const { auths } = read({}, { components: { securitySchemes } });
    const client = { clientId: "CLIENT_ID", clientSecret: "{secret:NAME}" };
    expect(auths.map(({ scheme, auth }) => [scheme, auth])).toEqual([
      ["key", { apiKey: { in: "header", name: "X-Key", value: "{secret:NAME}" } }],
      ["basic", { basic: { user: "USER", password: "{secret:NAME}" } }],
      ["bearer", { bearer: { token: "{secret:NAME}" } }],
      ["oauth", { clientCredentials: { tokenUrl: flow.tokenUrl, ...client, scope: "read write" } }],
      [
        "oauth",
        {
          authorizationCode: {
            tokenUrl: flow.tokenUrl,
            authorizationUrl: code.authorizationUrl,
            ...client,
            scope: "read write",
          },
        },
      ],
      ["oidc", { authorizationCode: { issuer: "https://auth.example", ...client } }],
      ["pointer", { bearer: { token: "{secret:NAME}" } }],
    ]);
  });
});
