import { afterAll, beforeAll, expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import { type CapabilityEvent, createEngine, type Engine, type EngineOptions } from "../../../src/glovebox/index.ts";
import { type Api, bodyWith, documentOf, engineWith, SECRET, sendJson, serveApi } from "./api.ts";

let api: Api;
let other: Api;
let engine: Engine;
const told: unknown[] = [];

beforeAll(async () => {
  other = await serveApi();
  api = await serveApi(({ url, headers, body }, response) => {
    const key = String(headers["x-key"]);
    if (url.startsWith("/away"))
      return void response.writeHead(302, { location: `${other.origin}/stolen?key=${key}` }).end();
    if (url.startsWith("/up")) return void response.writeHead(307, { location: "/elsewhere" }).end();
    if (url.startsWith("/fail")) {
      response.writeHead(500, { "content-type": "text/plain", "x-echo": key });
      return void response.end(`wrong key ${key}, ${encodeURIComponent(key)}, ${Buffer.from(key).toString("base64")}`);
    }
    const forms = { key, escaped: JSON.stringify(key), base64: Buffer.from(key).toString("base64"), url, body };
    sendJson(response, forms);
  });
  const document = documentOf([
    ["GET", "/echo/{id}", "echo"],
    ["GET", "/fail/{id}", "fail"],
    ["GET", "/away/{id}", "away"],
    ["POST", "/send", "send", bodyWith({ text: { type: "string" } })],
  ]);
  const log = (fields: object, message: string): void => void told.push([fields, message]);
  const logger = { trace: log, debug: log, info: log, warn: log };
  const audit = (entry: unknown): void => void told.push(entry);
  const options = engineWith(api, await api.write(document));
  engine = await createEngine({ ...options, logger, audit });
  for (const name of ["capability:call", "tool:post", "tool:error", "secret:violation", "connector:up"] as const) {
    engine.on(name, (event: unknown) => void told.push(event, (event as Partial<CapabilityEvent>).argsHash));
  }
});
afterAll(async () => {
  await engine.close();
  await api[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

const FORMS = [SECRET, Buffer.from(SECRET).toString("base64"), encodeURIComponent(SECRET)];

function expectClean(...values: readonly unknown[]): void {
  for (const form of FORMS) expect(JSON.stringify([values, told])).not.toContain(form);
}

test("a server gets the secret, and an answer that echoes it comes back with its placeholder", async () => {
  const result = await engine.execute({ name: "crm.echo", arguments: { id: "1" } }, { record: true });
  expect(api.seen.at(-1)?.headers["x-key"]).toBe(SECRET);
  expect(result.output).toMatchObject({ key: "glovebox.secret.CRM.", escaped: '"glovebox.secret.CRM."' });
  expectClean(result);
});

test("an error that echoes the secret comes back without it", async () => {
  const result = await engine.execute({ name: "crm.fail", arguments: { id: "1" } });
  expect(result.error).toMatchObject({ code: "tool_error", message: expect.stringContaining("500") as string });
  expectClean(result);
});

test("a redirect to another origin is not followed, so that nothing reaches that origin", async () => {
  const result = await engine.execute({ name: "crm.away", arguments: { id: "1" } });
  expect(result.error).toMatchObject({
    code: "capability_failed",
    message: expect.stringContaining("not below the connector's URL") as string,
  });
  expect(other.seen).toEqual([]);
  expectClean(result);
});

test("a program that writes a placeholder into its arguments is refused, and no request is sent", async () => {
  const before = api.seen.length;
  const code = 'return await tools.crm.send({ body: { text: "glovebox.secret.CRM." } });';
  const result = await codeMode(engine).execute({ name: "run_code", arguments: { code } });
  expect(result.error?.message).toContain('secret "CRM" is not bound to body');
  expect(api.seen).toHaveLength(before);
  expectClean(result);
});

test("a program's result, its console and its calls hold no secret", async () => {
  const code = 'const told = await tools.crm.echo({ id: "1" }); console.log(told); return told;';
  const result = await codeMode(engine).execute({ name: "run_code", arguments: { code } });
  expect(result.success).toBe(true);
  expectClean(result);
});

test("descriptions, metrics and the state of connectors hold no secret", async () => {
  expectClean(engine.list(), engine.connectors(), await engine.metrics(), engine.types());
});

const start = async (change: (options: EngineOptions) => EngineOptions): Promise<void> => {
  const document = await api.write(documentOf([["GET", "/echo/{id}", "echo"]]), "other.json");
  await using _engine = await createEngine(change(engineWith(api, document)));
};

test("an engine does not start where a secret is not bound to the connector's origin", async () => {
  const secrets = { CRM: { value: SECRET, bind: [{ origin: "https://crm.example", in: "header:x-key" }] } } as const;
  await expect(start((options) => ({ ...options, secrets }))).rejects.toThrow(
    /connectors\.crm puts the secret "CRM" into header:x-key of requests to http:\/\/127\.0\.0\.1:\d+, to which it is not bound/,
  );
});

test("an engine does not start where a secret is bound to another place of requests, or is missing", async () => {
  const bind = [{ origin: api.origin, in: "query:key" }] as const;
  await expect(start((options) => ({ ...options, secrets: { CRM: { value: SECRET, bind } } }))).rejects.toThrow(
    "to which it is not bound",
  );
  await expect(start((options) => ({ ...options, secrets: {} }))).rejects.toThrow(
    'connectors.crm names the secret "CRM", which the engine does not have',
  );
});
