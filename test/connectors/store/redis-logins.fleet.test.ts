import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { type LoginStore, openLoginStore } from "../../../src/connectors/store/login-store.ts";
import { closeAll, openLogins, refreshingOf, served } from "../login/opened.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";
import { describeLogins } from "./suite.ts";

const SECRET = "a secret of the fleet";
let server: RedisServer;
let peek: RedisConnection;
const opened: LoginStore[] = [];

beforeAll(async () => {
  server = await startRedis();
  peek = RedisConnection.open(server.url, "peek");
});
afterAll(async () => {
  await peek.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => peek.client.flushall());
afterEach(async () => {
  await closeAll();
  await Promise.all(opened.splice(0).map((store) => store.close()));
});

const options = () => ({ kind: "redis", url: server.url, fleet: "test", secret: SECRET }) as const;

async function open(): Promise<LoginStore> {
  const store = await openLoginStore(options());
  opened.push(store);
  return store;
}

describeLogins(open);

test("machines that share a Redis renew a login once for all of them, and Redis holds no token", async () => {
  const oidc = await served();
  const [auth, secrets] = await refreshingOf(oidc);
  const machines = Array.from({ length: 4 }, () => openLogins(oidc, auth, secrets, options()));
  const tokens = await Promise.all(machines.flatMap(({ logins }) => [logins.token(""), logins.token("")]));
  expect(new Set(tokens.map(({ value }) => value)).size).toBe(1);
  expect(oidc.seen).toHaveLength(1);
  const [key = ""] = await peek.client.keys("*logins*crm");
  const text = (await peek.client.hget(key, "text")) ?? "";
  expect(text).toMatch(/^gcm1:/);
  expect(text).not.toContain(tokens[0]?.value);
});
