import fc from "fast-check";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import querystring from "node:querystring";
import qs from "qs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenApiBody, OpenApiForm, OpenApiOperation, OpenApiParameter } from "../../../src/kernel/guest/host.ts";
import { callOpenApi, outputOf, requestOf } from "../../../src/connectors/guest/openapi.ts";

/** An operation with one parameter, `color`, unless it says otherwise. */
function operation(change: Partial<OpenApiOperation> = {}): OpenApiOperation {
  return {
    kind: "openapi",
    connector: "crm",
    isRead: true,
    isRepeatable: true,
    method: "GET",
    path: "/things",
    parameters: [],
    body: null,
    accept: "application/json",
    hasHeaders: false,
    takesPaths: false,
    idempotencyHeader: null,
    ...change,
  };
}

function parameter(place: OpenApiParameter["in"], form: Partial<OpenApiForm> = {}): OpenApiParameter {
  const style = place === "query" ? "form" : "simple";
  return { name: "color", property: "color", in: place, style, isExploded: style === "form", ...form };
}

/** The query of a request with one parameter. */
function queryOf(form: Partial<OpenApiForm>, color: unknown): string {
  const { target } = requestOf(operation({ parameters: [parameter("query", form)] }), { color });
  return target.replace(/^\/things\??/, "");
}

function pathOf(form: Partial<OpenApiForm>, color: unknown): string {
  const path = "/things/{color}/parts";
  const { target } = requestOf(operation({ path, parameters: [parameter("path", form)] }), { color });
  return target.slice("/things/".length, -"/parts".length);
}

const LIST = ["blue", "black", "brown"];
const OBJECT = { R: 100, G: 200, B: 150 };

type Cell = string | null;
type Row = readonly [
  place: Exclude<OpenApiParameter["in"], "querystring">,
  style: OpenApiForm["style"],
  explode: boolean,
  empty: Cell,
  text: Cell,
  list: Cell,
  object: Cell,
];

/** Of OpenAPI 3.2.0, which has those of 3.0.4 and 3.1.1. `null`: n/a, or refused, as the tests below say. */
const STYLES: readonly Row[] = [
  ["path", "matrix", false, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"],
  ["path", "matrix", true, ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
  ["path", "label", false, null, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"],
  ["path", "label", true, null, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"],
  ["path", "simple", false, null, "blue", "blue,black,brown", "R,100,G,200,B,150"],
  ["path", "simple", true, null, "blue", "blue,black,brown", "R=100,G=200,B=150"],
  ["header", "simple", false, "", "blue", "blue,black,brown", "R,100,G,200,B,150"],
  ["header", "simple", true, "", "blue", "blue,black,brown", "R=100,G=200,B=150"],
  ["query", "form", false, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
  ["query", "form", true, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
  ["query", "spaceDelimited", false, null, null, "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"],
  ["query", "pipeDelimited", false, null, null, "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"],
  ["query", "deepObject", false, null, null, null, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
  ["query", "deepObject", true, null, null, null, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
  ["cookie", "form", false, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
  ["cookie", "form", true, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
  ["cookie", "cookie", false, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
  ["cookie", "cookie", true, "color=", "color=blue", "color=blue; color=black; color=brown", "R=100; G=200; B=150"],
];
const CELLS = STYLES.flatMap(([place, style, explode, ...cells]) =>
  ["", "blue", LIST, OBJECT].flatMap((color, at) => {
    const cell = cells[at] ?? null;
    return cell === null ? [] : [{ place, style, explode, color, cell }];
  }),
);

describe("the specification's table of styles", () => {
  it.each(CELLS)("has $cell for $color in a $place, style $style, explode $explode", (one) => {
    const { place, style, explode, color, cell } = one;
    const parameters = [parameter(place, { style, isExploded: explode })];
    const path = place === "path" ? "/things/{color}" : "/things";
    const { target, headers } = requestOf(operation({ path, parameters }), { color });
    const sent = {
      path: target.slice("/things/".length),
      query: target.slice("/things?".length),
      header: headers.find(([name]) => name === "color")?.[1],
      cookie: headers.find(([name]) => name === "cookie")?.[1],
    };
    expect(sent[place]).toBe(cell);
  });

  it.each([
    ["label", false, 'would be "." or "..", which lead elsewhere'],
    ["label", true, 'would be "." or "..", which lead elsewhere'],
    ["simple", false, "color is empty: a part of the path cannot be left out"],
    ["simple", true, "color is empty: a part of the path cannot be left out"],
  ] as const)("has an empty %s, explode %s, that would be another path, and is refused", (style, explode, problem) => {
    expect(() => pathOf({ style, isExploded: explode }, "")).toThrow(problem);
  });

  it("has an empty label, which is sent where it is no step of the path by itself", () => {
    const parameters = [parameter("path", { style: "label" })];
    expect(requestOf(operation({ path: "/things{color}", parameters }), { color: "" }).target).toBe("/things.");
  });
});

describe("what the table of styles leaves open", () => {
  it("a cookie in style form is percent-encoded", () => {
    const { headers } = requestOf(operation({ parameters: [parameter("cookie", { style: "form" })] }), {
      color: "a b;c",
    });
    expect(headers).toContainEqual(["cookie", "color=a%20b%3Bc"]);
  });

  it("several cookies are one header, and a value that would end one is refused", () => {
    const parameters = [parameter("cookie", { style: "form" }), { ...parameter("cookie"), name: "b", property: "b" }];
    const { headers } = requestOf(operation({ parameters }), { color: "blue", b: 1 });
    expect(headers).toContainEqual(["cookie", "color=blue; b=1"]);
    const plain = operation({ parameters: [parameter("cookie", { style: "cookie" })] });
    expect(() => requestOf(plain, { color: "a; admin=1" })).toThrow("cannot be sent");
  });

  it("reserved characters stay as they are, but for those that end a query or a part of it", () => {
    expect(queryOf({ isReserved: true }, ":/?@!$'()*,;=")).toBe("color=:/?@!$'()*,;=");
    expect(queryOf({ isReserved: true }, "a b#[]&+%")).toBe("color=a%20b%23%5B%5D%26%2B%25");
    expect(queryOf({ isReserved: true }, "a%20b")).toBe("color=a%20b");
    expect(queryOf({}, "a/b")).toBe("color=a%2Fb");
  });
});

const text = fc.string({ unit: "binary", maxLength: 20 }).filter((one) => one.isWellFormed());
const scalar = fc.oneof(text, fc.integer(), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }));
const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

describe("what a server reads of a query", () => {
  it("is each value of a list, and of an object, as text", () => {
    fc.assert(
      fc.property(text, fc.array(scalar, { minLength: 1 }), (name, list) => {
        const read = new URL(`http://crm/${queryIn({ name }, list)}`).searchParams;
        expect(read.getAll(name)).toEqual(list.map(shown));
        expect([querystring.parse(queryIn({ name }, list).slice(1))[name]].flat()).toEqual(list.map(shown));
      }),
    );
    fc.assert(
      fc.property(fc.dictionary(text, scalar, { minKeys: 1 }), (object) => {
        const read = new URL(`http://crm/${queryIn({}, object)}`).searchParams;
        expect([...read]).toEqual(Object.entries(object).map(([key, value]) => [key, shown(value)]));
      }),
    );
  });

  it("is the value itself of a parameter that is JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(value !== null);
        const read = new URL(`http://crm/${queryIn({ style: "json" }, value)}`).searchParams.get("color");
        expect(JSON.parse(read ?? "")).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("is the nested object of a deepObject, as qs reads it, which Express and many others use", () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    const { tree } = fc.letrec((tie) => ({
      tree: fc.dictionary(
        word,
        fc.oneof({ maxDepth: 3 }, text, tie("tree"), fc.array(text, { minLength: 1, maxLength: 5 })),
        {
          minKeys: 1,
          maxKeys: 4,
          noNullPrototype: true,
        },
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const read = qs.parse(queryIn({ style: "deepObject" }, value).slice(1), { parameterLimit: 10_000, depth: 10 });
        expect(read).toEqual({ color: value });
      }),
    );
  });

  it("has nothing of an argument that is missing or null, nor of an empty list", () => {
    expect(queryOf({}, undefined)).toBe("");
    expect(queryOf({}, null)).toBe("");
    expect(queryOf({}, [])).toBe("");
    expect(queryOf({ isExploded: false }, [])).toBe("");
    expect(queryOf({}, ["blue", null, "brown"])).toBe("color=blue&color=brown");
  });
});

function queryIn(form: Partial<OpenApiForm>, color: unknown): string {
  return requestOf(operation({ path: "/", parameters: [parameter("query", form)] }), { color }).target.slice(1);
}

describe("a part of a path", () => {
  it("is one segment, which a server decodes to the argument", () => {
    fc.assert(
      fc.property(text, (value) => {
        fc.pre(value !== "" && value !== "." && value !== "..");
        const { pathname } = new URL(`http://crm/things/${pathOf({}, value)}/parts`);
        expect(pathname.split("/").map(decodeURIComponent)).toEqual(["", "things", value, "parts"]);
      }),
    );
  });

  it("is not empty, and leads nowhere else", () => {
    expect(() => pathOf({}, "")).toThrow("color is empty: a part of the path cannot be left out");
    expect(() => pathOf({}, [])).toThrow("color is empty");
    expect(() => pathOf({}, undefined)).toThrow("color is missing: it is a part of the path /things/{color}/parts");
    for (const value of [".", ".."]) expect(() => pathOf({}, value)).toThrow('would be "." or ".."');
    expect(pathOf({}, "../../admin")).toBe("..%2F..%2Fadmin");
    expect(pathOf({}, "a?b#c")).toBe("a%3Fb%23c");
  });
});

it("a header is one line of characters that a header can carry", () => {
  const headed = operation({ parameters: [parameter("header")] });
  for (const color of ["blue\r\nx-admin: 1", "blue\n", "\0", "blå✓"]) {
    expect(() => requestOf(headed, { color })).toThrow("color cannot be sent: a header carries one line");
  }
  expect(requestOf(headed, { color: "blå" }).headers).toContainEqual(["color", "blå"]);
});

describe("a body", () => {
  const posted = (body: Partial<OpenApiBody>): OpenApiOperation =>
    operation({
      method: "POST",
      body: { property: "body", mediaType: "application/json", encoding: "json", fields: [], ...body },
    });

  it("is JSON, with its media type", () => {
    const { body, headers } = requestOf(posted({}), { body: { a: [1, null] } });
    expect(body).toBe('{"a":[1,null]}');
    expect(headers).toContainEqual(["content-type", "application/json"]);
  });

  it("may be null, and is not there without the argument", () => {
    expect(requestOf(posted({}), { body: null }).body).toBe("null");
    const { body, headers } = requestOf(posted({}), {});
    expect(body).toBeNull();
    expect(headers.map(([name]) => name)).not.toContain("content-type");
  });

  it("is a form: lists as entries, objects as JSON", () => {
    const form = posted({ mediaType: "application/x-www-form-urlencoded", encoding: "form" });
    const { body } = requestOf(form, {
      body: { id: "a b&c", tags: ["x", "y"], address: { street: "1 Main" }, no: null },
    });
    expect([...new URLSearchParams(body as string)]).toEqual([
      ["id", "a b&c"],
      ["tags", "x"],
      ["tags", "y"],
      ["address", '{"street":"1 Main"}'],
    ]);
  });

  it("is a form that a server reads as it was given, whatever is in it", () => {
    const form = posted({ mediaType: "application/x-www-form-urlencoded", encoding: "form" });
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(scalar, fc.array(scalar, { minLength: 1 }))), (given) => {
        const entries = Object.entries(given).flatMap(([name, value]) =>
          [value].flat().map((one) => [name, shown(one)]),
        );
        const { body } = requestOf(form, { body: given });
        expect([...new URLSearchParams(body as string)]).toEqual(entries);
      }),
    );
  });

  it("is a form whose members have styles of their own", () => {
    const fields: OpenApiForm[] = [
      { name: "tags", style: "form", isExploded: false },
      { name: "owner", style: "deepObject", isExploded: true },
    ];
    const form = posted({ mediaType: "application/x-www-form-urlencoded", encoding: "form", fields });
    const { body } = requestOf(form, { body: { tags: ["x", "y"], owner: { name: "Ada", at: [1, 2] } } });
    expect(body).toBe("tags=x,y&owner%5Bname%5D=Ada&owner%5Bat%5D%5B0%5D=1&owner%5Bat%5D%5B1%5D=2");
    expect(() => requestOf(form, { body: ["x"] })).toThrow("body must be an object: it is sent as a form");
  });
});

describe("a body with files", () => {
  const multipart = operation({
    method: "POST",
    body: { property: "body", mediaType: "multipart/form-data", encoding: "multipart", fields: [] },
  });
  const bytesOf = (body: unknown): Buffer => Buffer.from((body as { readonly base64: string }).base64, "base64");
  const typeOf = (headers: readonly (readonly [string, string])[]): string =>
    headers.find(([name]) => name === "content-type")?.[1] ?? "";

  it("is read by a parser of multipart as it was given, whatever is in it", async () => {
    const file = fc.record({
      base64: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("base64")),
      filename: fc.string({ minLength: 1, maxLength: 20 }).filter((name) => !/[\r\n"\\\0%]/.test(name)),
      mediaType: fc.constant("image/png"),
    });
    const name = fc.stringMatching(/^[a-z]{1,8}$/);
    const plain = text.filter((one) => !one.includes("\0"));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, fc.oneof(plain, fc.integer(), file, fc.array(file))), async (given) => {
        fc.pre(Object.keys(given).length > 0);
        const { body, headers } = requestOf(multipart, { body: given });
        const response = new Response(bytesOf(body), { headers: { "content-type": typeOf(headers) } });
        const form = await response.formData();
        const expected = Object.entries(given).flatMap(([key, value]) => [value].flat().map((one) => [key, one]));
        const read = await Promise.all(
          [...form].map(async ([key, value]) => {
            if (typeof value === "string") return [key, value];
            const base64 = Buffer.from(await value.arrayBuffer()).toString("base64");
            return [key, { base64, filename: value.name, mediaType: value.type }];
          }),
        );
        expect(read).toEqual(expected.map(([key, one]) => [key, typeof one === "object" ? one : String(one)]));
      }),
    );
  });

  it("has objects as JSON, and a boundary that is in no part", async () => {
    const content = Buffer.from("--glovebox-boundary\r\n--glovebox-boundary-0").toString("base64");
    const { body, headers } = requestOf(multipart, { body: { meta: { a: 1 }, file: { base64: content } } });
    expect(typeOf(headers)).toBe("multipart/form-data; boundary=glovebox-boundary-1");
    const form = await new Response(bytesOf(body), { headers: { "content-type": typeOf(headers) } }).formData();
    expect(form.get("meta")).toBe('{"a":1}');
    expect(form.get("file")).toBeInstanceOf(File);
  });

  it("may be the bytes alone, with their media type", () => {
    const bytes = (mediaType: string) =>
      operation({ method: "PUT", body: { property: "body", mediaType, encoding: "bytes", fields: [] } });
    const file = { base64: "AP8=", mediaType: "image/gif" };
    const { body, headers } = requestOf(bytes("application/octet-stream"), { body: file });
    expect([body, typeOf(headers)]).toEqual([{ base64: "AP8=" }, "image/gif"]);
    expect(typeOf(requestOf(bytes("image/png"), { body: file }).headers)).toBe("image/png");
    expect(() => requestOf(bytes("image/png"), { body: { base64: "!" } })).toThrow("body.base64 is not Base64");
    expect(() => requestOf(bytes("image/png"), { body: 5 })).toThrow("body must be a file");
  });
});

describe("an answer", () => {
  const answer = (status: number, type: string, body: string) => ({
    status,
    headers: type === "" ? [] : [["content-type", type] as const],
    body,
  });

  it("is the value of its JSON, or its text", () => {
    expect(outputOf(operation(), answer(200, "application/json; charset=utf-8", '{"a":1}'))).toEqual({ a: 1 });
    expect(outputOf(operation(), answer(200, "application/vnd.crm.v1+json", "[1]"))).toEqual([1]);
    expect(outputOf(operation(), answer(200, "", '{"a":1}'))).toEqual({ a: 1 });
    expect(outputOf(operation(), answer(200, "text/plain", '{"a":1}'))).toBe('{"a":1}');
    expect(outputOf(operation(), answer(200, "", "hello"))).toBe("hello");
  });

  it("is null without a body, and of HEAD", () => {
    expect(outputOf(operation(), answer(204, "", ""))).toBeNull();
    expect(outputOf(operation(), answer(200, "application/json", ""))).toBeNull();
    expect(outputOf(operation({ method: "HEAD" }), answer(200, "application/json", ""))).toBeNull();
  });

  it("of a failure is an error with the status and the beginning of what the server said", () => {
    const fail = (): unknown => outputOf(operation(), answer(404, "application/json", '{"message":"no such thing"}'));
    expect(fail).toThrow('the server answered GET /things with status 404: {"message":"no such thing"}');
    const long = (): unknown => outputOf(operation(), answer(500, "text/plain", "x".repeat(5_000)));
    expect(long).toThrow(new RegExp(`status 500: x{1000}…$`));
  });

  it("of a success that is not the JSON that it says is its text, with a warning", () => {
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    expect(outputOf(operation(), answer(200, "application/json", "<html>"), warn)).toBe("<html>");
    expect(warnings).toEqual(["the server answered GET /things with a text that is not JSON, though it says so"]);
  });

  it("of bytes has them as Base64, with their media type", () => {
    const given = { status: 200, headers: [["content-type", "image/png; a=b"]], body: { base64: "AP8=" } } as const;
    expect(outputOf(operation(), given)).toEqual({ base64: "AP8=", mediaType: "image/png" });
    expect(() => outputOf(operation(), { ...given, status: 500 })).toThrow("with status 500");
  });

  it("has chosen headers beside it where the connector asks for them", async () => {
    const headers = [
      ["content-type", "application/json"],
      ["link", "<a>; rel=next"],
      ["x-ratelimit-remaining", "5"],
      ["server", "nginx"],
    ] as const;
    const answered = await callOpenApi(operation({ hasHeaders: true }), {}, async () => {
      return { status: 200, headers, body: "[1]" };
    });
    expect(answered).toEqual({ body: [1], headers: { link: "<a>; rel=next", "x-ratelimit-remaining": "5" } });
  });
});

describe("a real server", () => {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({ method: request.method, url: request.url, headers: request.headersDistinct, body }),
      );
    });
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it("gets what the arguments say, whatever they are", async () => {
    const { port } = server.address() as AddressInfo;
    const described = operation({
      method: "PUT",
      path: "/things/{color}",
      parameters: [
        parameter("path"),
        { ...parameter("query"), name: "größe", property: "size" },
        { ...parameter("header"), name: "x-note", property: "note" },
      ],
      body: { property: "body", mediaType: "application/json", encoding: "json", fields: [] },
    });
    const note = fc.stringMatching(/^[!-~][ -~]{0,20}[!-~]$/);
    await fc.assert(
      fc.asyncProperty(text, fc.array(scalar), note, fc.jsonValue(), async (color, size, said, body) => {
        fc.pre(color !== "" && color !== "." && color !== "..");
        const got = await callOpenApi(described, { color, size, note: said, body }, async (_method, request) => {
          const { method, target, headers, body: sent } = request as ReturnType<typeof requestOf>;
          const response = await fetch(`http://127.0.0.1:${port}${target}`, {
            method,
            headers: headers.map(([name, value]): [string, string] => [name, value]),
            body: sent as string,
          });
          return { status: response.status, headers: [...response.headers], body: await response.text() };
        });
        const seen = got as { method: string; url: string; headers: Record<string, string[]>; body: string };
        const url = new URL(seen.url, "http://crm");
        expect(seen.method).toBe("PUT");
        expect(decodeURIComponent(url.pathname)).toBe(`/things/${color}`);
        expect(url.searchParams.getAll("größe")).toEqual(size.map(shown));
        expect(seen.headers["x-note"]).toEqual([said]);
        expect(JSON.parse(seen.body)).toEqual(JSON.parse(JSON.stringify(body)));
      }),
      { numRuns: 50 },
    );
  });
});
