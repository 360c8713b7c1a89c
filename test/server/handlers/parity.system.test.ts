import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { HOSTS } from "./hosts.ts";
import { type Asked, REQUESTS } from "./requests.ts";

const schema = (properties: object) => ({ type: "object", properties, required: Object.keys(properties) });
const NUMBER = { type: "number" };
const tool = (name: string, source: string, more: object = {}) => ({ name, description: name, source, ...more });
const TOOLS = [
  tool("add", "export default ({ a, b }) => a + b;", { inputSchema: schema({ a: NUMBER, b: NUMBER }) }),
  tool("echo", "export default (input) => JSON.stringify(input);"),
  tool("count", "export default ({ text }) => text.length;"),
  tool("repeat", "export default ({ times }) => 'x'.repeat(times);"),
  tool("fail", "export default () => { throw new TypeError('no'); };"),
  tool("tell", "export default (_, { progress }) => { console.log('one'); progress(1, 2); return 3; };"),
  tool("secret", "export default () => 1;"),
];
const [caller, admin, slow] = [createKey(), createKey(), createKey()];
const NAMES = ["add", "echo", "count", "repeat", "fail", "tell", "nothing", "more", "x*"];
const KEYS = [
  { name: "caller", hash: caller.hash, tenant: "a", roles: ["execute"], tools: NAMES },
  { name: "admin", hash: admin.hash, tenant: null, roles: ["admin"] },
  { name: "slow", hash: slow.hash, tenant: "a", roles: ["execute"], rate: { calls: 1, perMs: 60_000 } },
] as const;
const SECRETS = { caller: caller.secret, admin: admin.secret, slow: slow.secret };
const ORIGINS = ["https://app.example"];
const ROUTES = [
  "execute",
  "tools",
  "mcp",
  "health",
  "openapi",
  "metrics",
  "calls",
  "admin",
  "stats",
  "console",
] as const;
/** Headers that a caller may rely on. */
const LISTED = [
  "access-control-allow-origin",
  "access-control-allow-methods",
  "access-control-allow-headers",
  "access-control-expose-headers",
  "allow",
  "cache-control",
  "content-security-policy",
  "content-type",
  "cross-origin-resource-policy",
  "etag",
  "idempotency-replayed",
  "ratelimit-policy",
  "retry-after",
  "vary",
  "www-authenticate",
  "x-content-type-options",
];

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** `place`: distinguishes what the engine remembers of one server's requests. */
async function ask(url: string, place: string, asked: Asked): Promise<Answer> {
  const { method = "GET", path, headers, body, key = "caller", repeats } = asked;
  const isText = typeof body === "string";
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(key === "none" ? {} : { authorization: `Bearer ${SECRETS[key]}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(repeats === undefined ? {} : { "idempotency-key": `"${place}: ${repeats}"` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
  });
  const listed = LISTED.map((name): [string, string | null] => [name, response.headers.get(name)]);
  const found = listed.filter((entry): entry is [string, string] => entry[1] !== null);
  return { status: response.status, body: await response.text(), headers: Object.fromEntries(found) };
}

/** An answer without what is another each time: times, chosen names, and the path of the mount. */
function steady({ status, body, headers }: Answer): Answer {
  const text = body
    .replaceAll(/"(queueMs|wallMs|cpuMs|heapBytes|evaluationMs)":[\d.e+-]+/g, '"$1":0')
    .replaceAll(/"[\da-f]{8}-[\da-f-]{27}"/g, '"id"')
    .replaceAll(/in \d+ ms/g, "in 0 ms")
    .replaceAll(/"retryAfterMs":\d+/g, '"retryAfterMs":0')
    .replace('"servers":[{"url":"/tools"}]', '"servers":[{"url":"/"}]');
  // A call beyond its rate is told how many seconds are left.
  if (status === 429)
    return { status, body: text, headers: { ...headers, "retry-after": typeof headers["retry-after"] } };
  // The tag of a tool that each of them registers: it depends on what its evaluation took.
  const { etag } = headers;
  return { status, body: text, headers: status === 201 ? { ...headers, etag: typeof etag } : headers };
}

let engine: Engine;
let server: Server;
/** What the service itself answers. */
const expected = new Map<string, Answer>();

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS });
  server = await createServer(engine, { port: 0, keys: KEYS, origins: ORIGINS });
  for (const asked of REQUESTS) expected.set(asked.says, steady(await ask(server.url, "service", asked)));
});

afterAll(() => server.close());

test.each(REQUESTS)("the service answers $says with $status", ({ says, status }) => {
  expect(expected.get(says)?.status).toBe(status);
});

describe.each(Object.entries(HOSTS))("mounted in %s", (name, open) => {
  const answers = new Map<string, Answer>();

  beforeAll(async () => {
    await using host = await open(engine, { keys: KEYS, origins: ORIGINS, routes: ROUTES });
    for (const asked of REQUESTS) answers.set(asked.says, steady(await ask(host.url, name, asked)));
  });

  test.each(REQUESTS)("it answers $says as the service does", ({ says, status, isUnreadable }) => {
    // What cannot be parsed does not come as far.
    if (isUnreadable === true && name.endsWith("express.json()")) return expect(answers.get(says)?.status).toBe(status);
    expect(answers.get(says)).toEqual(expected.get(says));
  });
});
