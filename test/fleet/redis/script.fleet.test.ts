import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { LateError, Script, ScriptRunner, type Urgency } from "../../../src/fleet/redis/script.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";

const COUNT = new Script('return redis.call("INCRBY", KEYS[1], string.len(ARGV[1]))');
/** Redis answers nobody else for a while, but says that it is busy. */
const BUSY_MS = 500;
const OCCUPY = `
local function now()
  local time = redis.call("TIME")
  return time[1] * 1000 + time[2] / 1000
end
local untilMs = now() + ${BUSY_MS}
while now() < untilMs do end
`;

let server: RedisServer;
let admin: RedisConnection;
let connection: RedisConnection;
let runner: ScriptRunner;

beforeAll(async () => {
  server = await startRedis();
  admin = RedisConnection.open(server.url, "admin");
  connection = RedisConnection.open(server.url, "runner");
  runner = new ScriptRunner(connection);
});
afterAll(async () => {
  await connection.close();
  await admin.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await admin.client.flushall();
});

function add(urgency: Urgency, text = "x"): Promise<unknown> {
  return runner.run({ script: COUNT, keys: ["n"], args: [text], urgency });
}

describe("a script", () => {
  test("runs once where Redis has forgotten it", async () => {
    expect(await add("now")).toBe(1);
    await admin.client.script("FLUSH");
    expect(await add("now")).toBe(2);
  });

  test.for<Urgency>(["now", "again", "later"])(
    "that is refused for a moment is asked %s, and once",
    async (urgency) => {
      await add("now");
      await admin.client.config("SET", "busy-reply-threshold", "1");
      const occupying = admin.client.eval(OCCUPY, 0);
      expect(await add(urgency)).toBe(2);
      await occupying;
    },
  );

  test(
    "of which somebody was told that it failed is not begun afterwards, unless it may be",
    { timeout: 120_000 },
    async () => {
      await add("now");
      await admin.client.script("FLUSH");
      await admin.client.call("CLIENT", "PAUSE", "60000", "WRITE");
      await expect(add("now", "xx")).rejects.toThrow(LateError);
      await admin.client.call("CLIENT", "UNPAUSE");
      expect(await admin.client.get("n")).toBe("1");
      await add("now");
      await admin.client.script("FLUSH");
      await admin.client.call("CLIENT", "PAUSE", "60000", "WRITE");
      await expect(add("later", "xxxx")).rejects.toThrow(LateError);
      await admin.client.call("CLIENT", "UNPAUSE");
      await expect.poll(() => admin.client.get("n"), { timeout: 60_000 }).toBe("6");
    },
  );

  test("waits only where there is room for it, until Redis has answered", async () => {
    await admin.client.call("CLIENT", "PAUSE", "60000", "ALL");
    const text = "x".repeat(40 * 1024 * 1024);
    const full = "too many operations wait for the store";
    const first = add("now", text);
    await expect(add("now", text)).rejects.toThrow(full);
    // Its sender has given up, but its text is kept until Redis has answered.
    await expect(first).rejects.toThrow(LateError);
    await expect(add("now", text)).rejects.toThrow(full);
    await server.stop("SIGKILL");
    await server.start();
    const again = () => add("now", text).catch((error: Error) => error.message);
    await expect.poll(again, { interval: 500 }).not.toBe(full);
  });
});
