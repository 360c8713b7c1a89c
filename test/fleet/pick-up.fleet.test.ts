import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Engine, IdempotencyOptions, ToolResult } from "../../src/glovebox/index.ts";
import { FleetKeys } from "../../src/fleet/wire/keys.ts";
import { PROTOCOL, queueName } from "../../src/fleet/wire/messages.ts";
import { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { serve, type TestServer } from "../kernel/broker/capabilities/fetch/server.ts";
import { createFleetEngine, SCALE, startFleet, type TestFleet } from "./fleet.ts";
import {
  API_KEY,
  type KeyedAsk,
  keyedOptions,
  type KeyedServer,
  type KeyedSettings,
  startKeyedServer,
} from "./keyed-server.ts";

/** A server is gone that was not seen for `goneMs`: a call of this length is still under way then. */
const LONG_MS = 22_000 * SCALE;
const SHORT_MS = 2_000 * SCALE;
/** Longer than any test. */
const HELD_MS = 60_000;
const TEST_MS = 120_000;
const SECRET = "a secret of the ledger";

/** A fleet with one machine, a world that its tools tell what they do, and two servers, of which one can be lost. */
interface Scene extends AsyncDisposable {
  readonly fleet: TestFleet;
  readonly settings: KeyedSettings;
  readonly lost: KeyedServer;
  readonly other: Engine;
  /** How often a call said something. */
  told(words: string): number;
}

async function openScene(slots: number, knowsLedger: boolean): Promise<Scene> {
  await using parts = new AsyncDisposableStack();
  const fleet = parts.use(await startFleet(0));
  const world: TestServer = parts.use(await serve((_request, response) => response.end()));
  const ledger: IdempotencyOptions = { url: fleet.url, secret: SECRET };
  await fleet.add({ slots, ...(knowsLedger ? { ledger } : {}) });
  const settings = { url: fleet.url, fleet: fleet.name, ledger, origin: world.origin, scale: SCALE };
  const lost = parts.use(await startKeyedServer(settings));
  const other = parts.use(await createFleetEngine(keyedOptions(settings)));
  const told = (words: string) => world.seen.filter(({ url }) => url === `/${words}`).length;
  const owned = parts.move();
  return { fleet, settings, lost, other, told, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function disposable(connection: RedisConnection) {
  return { connection, [Symbol.asyncDispose]: () => connection.close() };
}

/** Asks until nobody runs the call any more. */
async function ask(engine: Engine, { tool, key, ms = 0 }: KeyedAsk): Promise<ToolResult> {
  for (;;) {
    const result = await engine.execute({ name: tool, arguments: { key, ms } }, { idempotencyKey: key });
    if (result.error?.code !== "in_progress") return result;
  }
}

describe("of a server that was killed", () => {
  const short = { tool: "tells", key: "short", ms: SHORT_MS };
  const long = { tool: "tells", key: "long", ms: LONG_MS };
  const repeats = { tool: "repeats", key: "repeats", ms: LONG_MS };
  const asks = { tool: "asks", key: "asks", ms: LONG_MS };
  const misfit = { tool: "misfit", key: "misfit", ms: SHORT_MS };
  const fails = { tool: "fails", key: "fails", ms: SHORT_MS };
  const keeps = { tool: "keeper", key: "keeps", ms: SHORT_MS };
  const others = [short, long, repeats, misfit, fails, keeps];
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene(8, true);
    await Promise.all(others.map((each) => scene.lost.begin(each)));
    // It has not asked for the rest by the time at which its server is gone, however long the others take to begin.
    await scene.lost.begin(asks);
    await scene.lost.kill();
  }, TEST_MS);
  afterAll(() => scene[Symbol.asyncDispose]());

  test.concurrent(
    "a call that ended before anybody knew of the loss has its result for who asks again",
    async () => {
      const result = await ask(scene.other, short);
      expect(result).toMatchObject({ success: true, output: { key: "short" } });
      expect(result.metadata).toMatchObject({ isRepeated: true, tool: "tells", attempts: 1 });
      expect(result.metadata.logs).toEqual([{ level: "log", message: "began" }]);
      expect(scene.told("began/short")).toBe(1);
    },
    TEST_MS,
  );

  test.concurrent(
    "a call that goes on after the loss does so once, and has its result for all servers, one that is started again among them",
    async () => {
      expect((await ask(scene.other, long)).output).toEqual({ key: "long" });
      await using again = await startKeyedServer(scene.settings);
      const result = await again.result(long);
      expect(result).toMatchObject({ output: { key: "long" }, metadata: { isRepeated: true } });
      expect(scene.told("began/long")).toBe(1);
    },
    TEST_MS,
  );

  test.concurrent(
    "a call that might be done twice is not, as long as its machine has it",
    async () => {
      expect((await ask(scene.other, repeats)).output).toEqual({ key: "repeats" });
      expect(scene.told("began/repeats")).toBe(1);
    },
    TEST_MS,
  );

  test.concurrent(
    "a call ends that asks for something after the loss, and nobody knows what came of it",
    async () => {
      const { error } = await ask(scene.other, asks);
      expect(error).toMatchObject({ code: "outcome_unknown", details: { hasEnded: false } });
      expect(scene.told("goes-on/asks")).toBe(0);
    },
    TEST_MS,
  );

  test.concurrent(
    "an end becomes a result by what the tool says of its output, and of its source",
    async () => {
      const [misfitting, failed] = await Promise.all([ask(scene.other, misfit), ask(scene.other, fails)]);
      expect(misfitting.error).toMatchObject({ code: "invalid_output" });
      expect(failed.error).toMatchObject({ code: "tool_error", type: "TypeError", message: "no fails" });
      expect(failed.metadata).toMatchObject({ isRepeated: true });
      expect(JSON.stringify(failed.error?.details)).toContain("fails.js:1:");
    },
    TEST_MS,
  );

  test.concurrent(
    "an end says nothing of its tool's config, neither in its result nor in Redis",
    async () => {
      const { error } = await ask(scene.other, keeps);
      expect(error?.message).toBe("refused for (api_key)");
      await using redis = disposable(RedisConnection.open(scene.fleet.url, "test"));
      const { client } = redis.connection;
      const calls = (await client.keys("*")).filter((key) => key.includes(":ledger}:call:"));
      const kept = await Promise.all(calls.map((key) => client.hget(key, "result")));
      expect(kept.filter((result) => result !== null).length).toBeGreaterThan(0);
      expect(JSON.stringify(kept)).not.toContain(API_KEY);
    },
    TEST_MS,
  );

  test.concurrent(
    "a key stays that of what was asked for first",
    async () => {
      const { error } = await ask(scene.other, { ...long, ms: 1 });
      expect(error?.code).toBe("invalid_arguments");
      await ask(scene.other, short);
      expect((await ask(scene.other, { ...short, ms: 1 })).error?.code).toBe("invalid_arguments");
    },
    TEST_MS,
  );

  test.concurrent(
    "an end says nothing to a server whose tool of that name is another",
    async () => {
      await ask(scene.other, short);
      const { tools: _tools, ...options } = keyedOptions(scene.settings);
      await using stranger = await createFleetEngine(options);
      await stranger.register({ name: "tells", description: "Is another.", source: "export default () => 1;" });
      const { error } = await ask(stranger, short);
      expect(error).toMatchObject({ code: "outcome_unknown", details: { hasEnded: true } });
    },
    TEST_MS,
  );
});

test(
  "a call that waited for a machine when its server was killed is as if it had never been asked for",
  async () => {
    await using scene = await openScene(1, true);
    const waits = { tool: "tells", key: "waits" };
    const taken = Promise.withResolvers<void>();
    scene.other.on("fleet:taken", () => taken.resolve());
    const letGo = new AbortController();
    const idles = { name: "idles", arguments: { key: "holds", ms: HELD_MS } };
    const held = scene.other.execute(idles, { signal: letGo.signal });
    await taken.promise;
    scene.lost.ask(waits);
    await using redis = disposable(RedisConnection.open(scene.fleet.url, "test"));
    const { client } = redis.connection;
    const keys = new FleetKeys(scene.fleet.name);
    await expect.poll(() => client.zcard(keys.of(queueName(PROTOCOL), "prioritized"))).toBe(1);
    await scene.lost.kill();
    // The sign of life of the other one is left.
    await expect.poll(async () => (await client.keys(keys.of("server", "*"))).length).toBe(1);
    letGo.abort();
    await held;
    await expect
      .poll(async () => (await ask(scene.other, waits)).output, { timeout: 60_000, interval: 1_000 })
      .toEqual({ key: "waits" });
    expect(scene.told("began/waits")).toBe(1);
  },
  TEST_MS,
);

test(
  "a machine that does not know the ledger cancels the calls of a server that was killed",
  async () => {
    await using scene = await openScene(8, false);
    const asked = { tool: "tells", key: "cancelled", ms: LONG_MS };
    await scene.lost.begin(asked);
    await scene.lost.kill();
    await expect.poll(() => scene.other.stats().executor.ready, { timeout: 60_000 }).toBe(true);
    const { error } = await ask(scene.other, asked);
    expect(error).toMatchObject({ code: "outcome_unknown", details: { hasEnded: false } });
  },
  TEST_MS,
);
