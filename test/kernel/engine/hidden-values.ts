import { expect } from "vitest";
import { formsOf } from "../../../src/kernel/base/redaction/forms.ts";
import type { Engine, EngineOptions, ToolDefinition } from "../../../src/glovebox/index.ts";
import { serve, type TestServer } from "../broker/capabilities/fetch/server.ts";

/** A secret of the engine, with characters that each form writes in its own way. */
const VAULT = 'kV9-zQ7m/T+0aX&2"q';
const [PASSWORD, PIN, LONG] = ["hunter2-of-acme", "swordfish-of-beta", "open-sesame"];
const PLAIN = [PASSWORD, PIN, LONG, "token-of-ada", "config-must-not-be-kept"];

const LOGIN = {
  type: "object",
  properties: {
    user: { type: "string" },
    password: { type: "string", format: "password", maxLength: 40 },
    more: { $ref: "#/$defs/more" },
  },
  required: ["user"],
  $defs: { more: { type: "array", items: { anyOf: [{ type: "string", writeOnly: true }, { type: "number" }] } } },
};
const TOKEN = { type: "object", properties: { token: { type: "string", writeOnly: true }, ok: { type: "boolean" } } };

/** Sends the secret wherever it may be, and says all that comes back. */
const ASK = `export default async ({ origin, fails }, { host }) => {
  const key = host.secrets.VAULT;
  const headers = { authorization: "Bearer " + key, "x-key": key, "content-type": "application/json" };
  const answer = await fetch(origin + "/echo?key=" + key, { method: "POST", headers, body: JSON.stringify({ key }) });
  const seen = { status: answer.statusText, headers: [...answer.headers], text: await answer.text() };
  await host.kv.set("seen", seen);
  const cut = await fetch(origin + "/cut", { headers }).then((other) => other.text()).catch((error) => String(error));
  console.log(JSON.stringify(seen), cut);
  if (fails) throw new Error(JSON.stringify(seen));
  return { seen, cut };
}`;

/** A server that says everywhere what it was sent, once with an end and once without. */
export function serveEcho(): Promise<TestServer> {
  return serve(({ url, headers }, response, body) => {
    const key = String(headers["x-key"]);
    if (url === "/cut") {
      response.writeHead(200, { "content-length": 1_000 });
      return response.write(key, () => response.destroy());
    }
    response.writeHead(401, `Not ${key}`, { "x-echo": key, "set-cookie": `key=${encodeURIComponent(key)}` });
    return response.end(JSON.stringify({ url, headers, body }) + Buffer.from(key).toString("base64"));
  });
}

/** Tools with values that no store of calls may have, and an engine's options for them. */
export function hidingOptions(origin: string) {
  const bound = ["header:authorization", "header:x-key", "query:key", "body"] as const;
  const fetch = { origins: [], privateOrigins: [origin], methods: ["GET", "POST"] };
  const tools: readonly ToolDefinition[] = [
    {
      name: "login",
      description: "Logs in.",
      inputSchema: LOGIN,
      outputSchema: TOKEN,
      config: { account: "config-must-not-be-kept" },
      source:
        'export default ({ user }) => { if (user === "") throw new Error("no user"); return { token: "tok-" + "en-of-" + user, ok: true }; };',
    },
    {
      name: "ask",
      description: "Asks.",
      capabilities: { kv: true, fetch: { origins: [origin], methods: ["GET", "POST"] }, secrets: ["VAULT"] },
      source: ASK,
    },
  ];
  return {
    workers: 1,
    executor: "threads",
    tools,
    kv: { path: ":memory:" },
    policy: { rules: [{ allow: { kv: true, fetch, secrets: ["VAULT"] } }] },
    secrets: { VAULT: { value: VAULT, bind: bound.map((place) => ({ origin, in: place })) } },
  } as const satisfies EngineOptions;
}

/** Makes calls `1` to `7` with hidden values, and has the server give the secret back. */
export async function makeHidingCalls(engine: Engine, { origin, seen }: TestServer): Promise<void> {
  const calls = [
    { name: "login", arguments: { user: "ada", password: PASSWORD, more: [1, PIN] } },
    { name: "login", arguments: { user: "", password: PASSWORD } },
    { name: "login", arguments: { user: "ada", password: LONG + "x".repeat(40) } },
    { name: "login", arguments: { user: "ada", password: { is: PIN } } },
    { name: "ask", arguments: { origin } },
    { name: "ask", arguments: { origin, fails: true } },
  ];
  for (const [at, call] of calls.entries()) await engine.execute({ id: `${at + 1}`, ...call });
  await engine.execute({ id: "7", name: "ask", arguments: { origin } }, { durable: true });
  expect(seen.map(({ headers }) => headers["x-key"])).toEqual(Array<string>(6).fill(VAULT));
  expect(seen[0]).toMatchObject({
    url: `/echo?key=${encodeURIComponent(VAULT)}`,
    body: JSON.stringify({ key: VAULT }),
  });
}

/** The hidden values that these bytes have, in whatever form. */
export function hiddenIn(bytes: Buffer): readonly string[] {
  return [...formsOf(VAULT), ...[VAULT.slice(0, 8), ...PLAIN].map((text) => Buffer.from(text))]
    .filter((form) => bytes.includes(form))
    .map((form) => form.toString("latin1"));
}
