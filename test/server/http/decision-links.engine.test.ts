import { createHash, createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createEngine, type DurableCall, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { receiver } from "../../kernel/engine/durable/receiver.ts";

/* A person follows a link of a notification, without a key: the page decides nothing, its form decides once. */

const SECRET = "a secret of many characters";
const MESSAGE = `<script>alert("x")</script> & \u202Eevil`;

let hook: Awaited<ReturnType<typeof receiver>>;
let engine: Engine;
let server: Server;
beforeAll(async () => {
  hook = await receiver();
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    calls: { path: ":memory:", notify: [{ url: hook.url, secret: SECRET, links: "https://tools.example.com/" }] },
    policy: {
      rules: [],
      approvals: [
        { tools: ["refund", "named"], message: MESSAGE },
        { tools: ["named"], by: ["boss"] },
      ],
    },
  });
  for (const name of ["refund", "named"])
    await engine.register({ name, description: "Pays.", source: "export default ({ order }) => `paid ${order}`;" });
  const key = createKey();
  const keys = [{ name: "boss", tenant: null, roles: ["approve"] as const, hash: key.hash }];
  server = await createServer(engine, { port: 0, drainMs: 100, keys });
});
afterAll(async () => {
  await server.close();
  await hook[Symbol.asyncDispose]();
});

interface Linked {
  readonly call: DurableCall;
  readonly link: string;
  readonly digest: string;
}

/** A call that waits, with the link that was told. */
async function linked(args: object = { order: 7 }, name = "refund"): Promise<Linked> {
  const { error } = await engine.execute({ name, arguments: args as Record<string, unknown> });
  const { id = "" } = (error?.details ?? {}) as { readonly id?: string };
  const told = await vi.waitFor(
    () => {
      const found = hook.all.find(({ body }) => body.data.id === id);
      if (found === undefined) throw new Error("nothing came");
      return found;
    },
    { timeout: 120_000, interval: 20 },
  );
  const call = await engine.calls.durable.get(id);
  const [wait] = call?.waits ?? [];
  if (call === undefined || wait?.kind !== "approval") throw new Error("the call waits for no approval");
  return { call, link: String(told.body.data.waits[0]?.["link"]), digest: wait.digest };
}

/** The address of this test's server in the place of the public one. */
const here = (link: string): string => link.replace("https://tools.example.com", server.url);

const post = (link: string, form: Record<string, string>): Promise<Response> =>
  fetch(here(link), { method: "POST", body: new URLSearchParams(form), headers: { origin: server.url } });

/** A token as whoever knows the secret makes it. */
function tokenFor(id: string, digest: string, expiresMs: number, secret = SECRET): string {
  const own = createHmac("sha256", secret).update("glovebox decision link").digest();
  const expires = Math.floor(expiresMs / 1_000).toString(36);
  const mac = createHmac("sha256", own).update(`${id}\n0\n${expires}\n${digest}`).digest("base64url");
  const target = createHash("sha256").update(hook.url).digest("hex").slice(0, 16);
  return `https://tools.example.com/v1/decisions/${target}~${id}~0~${expires}~${mac}`;
}

test("the page of a link shows the tool, the message and the arguments as text, and decides nothing", async () => {
  const { call, link } = await linked({ order: "</pre><b>bold", note: "yes\u{fe01}\u{e0102}\u3164\u0085" });
  expect(link.startsWith("https://tools.example.com/v1/decisions/")).toBe(true);
  for (const method of ["GET", "HEAD", "GET"]) {
    const response = await fetch(here(link), { method });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'/);
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(response.headers.get("referrer-policy")).toBe("same-origin");
    const html = await response.text();
    if (method === "HEAD") continue;
    expect(html).not.toMatch(/<script|<b>|\u202E/);
    expect(html).toContain("&#60;script&#62;");
    expect(html).toContain("\\u202eevil");
    expect(html).toContain("yes\\ufe01\\udb40\\udd02\\u3164\\u0085");
    expect(html).toContain("&#60;/pre&#62;&#60;b&#62;bold");
    expect(html).toContain("refund");
  }
  expect(await engine.calls.durable.get(call.id)).toMatchObject({ state: "paused", waits: [{ state: "open" }] });
});

test("its form approves once, in the name of the target, and the call goes on", async () => {
  const { call, link, digest } = await linked();
  const approved = await post(link, { decision: "approve", digest });
  expect([approved.status, await approved.text()]).toEqual([200, expect.stringContaining("Approved.")]);
  expect((await engine.calls.durable.result(call.id, {}, { waitMs: 120_000 }))?.output).toBe("paid 7");
  const { host } = new URL(hook.url);
  expect((await engine.calls.durable.get(call.id))?.waits).toMatchObject([
    { state: "approved", settled: { by: null, actor: `link:${host}` } },
  ]);
  for (const decision of ["approve", "refuse"]) expect((await post(link, { decision, digest })).status).toBe(410);
  expect((await fetch(here(link))).status).toBe(410);
});

test("its form refuses, and the call fails", async () => {
  const { call, link, digest } = await linked();
  expect((await post(link, { decision: "refuse", digest })).status).toBe(200);
  const result = await engine.calls.durable.result(call.id, {}, { waitMs: 120_000 });
  expect(result?.error?.code).toBe("approval_refused");
});

test("a form without the digest that was shown approves nothing", async () => {
  const { call, link } = await linked();
  expect((await post(link, { decision: "approve" })).status).toBe(409);
  expect((await post(link, { decision: "approve", digest: "0".repeat(64) })).status).toBe(409);
  expect((await post(link, { decision: "perhaps" })).status).toBe(400);
  expect((await engine.calls.durable.get(call.id))?.state).toBe("paused");
});

test("a link that was forged or has expired decides nothing", async () => {
  const { call, link, digest } = await linked();
  const inAnHour = Date.now() + 3_600_000;
  const wrong = [
    `${link.slice(0, -1)}${link.endsWith("A") ? "B" : "A"}`,
    tokenFor(call.id, digest, inAnHour, "another secret of many characters"),
    tokenFor(call.id, "0".repeat(64), inAnHour),
    tokenFor("c_AAAAAAAAAAAAAAAA", digest, inAnHour),
  ];
  for (const one of wrong) expect((await post(one, { decision: "approve", digest })).status).toBe(404);
  const expired = tokenFor(call.id, digest, Date.now() - 60_000);
  expect((await fetch(here(expired))).status).toBe(410);
  expect((await post(expired, { decision: "approve", digest })).status).toBe(410);
  expect((await engine.calls.durable.get(call.id))?.state).toBe("paused");
  // The token of this test is what the engine makes.
  expect((await fetch(here(tokenFor(call.id, digest, inAnHour)))).status).toBe(200);
});

test("no link decides where a rule names the keys that do", async () => {
  const { call, link, digest } = await linked({ order: 1 }, "named");
  expect(link).toBe("null");
  const response = await post(tokenFor(call.id, digest, Date.now() + 60_000), { decision: "approve", digest });
  expect([response.status, await response.text()]).toEqual([403, expect.stringContaining("a rule names the keys")]);
  expect((await engine.calls.durable.get(call.id))?.state).toBe("paused");
});

test("a page of another site sends no form, and whoever tries many links is slowed down", async () => {
  const { call, link, digest } = await linked();
  const body = new URLSearchParams({ decision: "approve", digest });
  const foreign = { method: "POST", body, headers: { origin: "https://evil.example" } };
  expect((await fetch(here(link), foreign)).status).toBe(403);
  expect((await engine.calls.durable.get(call.id))?.state).toBe("paused");
  const statuses: number[] = [];
  for (let tries = 0; tries < 40; tries++) statuses.push((await fetch(`${server.url}/v1/decisions/${tries}`)).status);
  expect(statuses[0]).toBe(404);
  expect(statuses.at(-1)).toBe(429);
});
