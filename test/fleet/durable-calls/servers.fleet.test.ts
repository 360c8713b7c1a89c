import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import { DURABLE_SCRIPTS } from "../../../src/fleet/durable-calls/durable-scripts.ts";
import { RedisDurableCalls } from "../../../src/fleet/durable-calls/redis-durable-calls.ts";
import type { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { LateError, RefusedError, ScriptRunner } from "../../../src/fleet/redis/script.ts";
import { Seal } from "../../../src/kernel/store/seal.ts";
import { DEFAULT_DURABLE, SIGNALS_MAX } from "../../../src/kernel/store/calls/durable/durable-call.ts";
import type { DurableStep } from "../../../src/kernel/store/calls/durable/durable-step.ts";
import { APPROVAL, claimed, stepsOf } from "../../kernel/store/calls/durable/suite.ts";
import { openStore } from "../../kernel/store/calls/stored-calls.ts";
import { connectTo, type RedisServer, startRedis } from "../../redis-server.ts";

/* Calls that wait in one Redis, of which several servers are the users. */

type ScriptRun = Parameters<ScriptRunner["run"]>[0];

const SECRET = "a secret of the fleet";
const HOUR_MS = 60 * 60 * 1_000;

let server: RedisServer;
let peek: RedisConnection;
beforeAll(async () => {
  server = await startRedis();
  peek = await connectTo(server.url);
});
afterAll(async () => {
  await peek.close();
  await server[Symbol.asyncDispose]();
});

const place = (url = server.url, secret = SECRET) => ({ url, fleet: randomUUID(), secret });

/** A server's store, on its thread. `aheadMs`: of its clock. */
function serverAt(at: ReturnType<typeof place>, aheadMs = 0) {
  const { store } = openStore(at);
  const now = (step: DurableStep): DurableStep => ("nowMs" in step ? { ...step, nowMs: Date.now() + aheadMs } : step);
  return stepsOf({ take: (step) => store.takeDurable(now(step)) }, Date.now() + aheadMs);
}

/** A Redis that a test harms. */
async function ownServer(): Promise<RedisServer> {
  const own = await startRedis();
  onTestFinished(() => own[Symbol.asyncDispose]());
  return own;
}

const keyOf = (fleet: string, id: string): string => `{glovebox:${fleet}:calls}:waits:call:${id}`;

/** A store between which and Redis `between` stands: it runs scripts, or fails. */
async function storeOver(
  between: (one: ScriptRun, run: () => Promise<unknown>) => Promise<unknown>,
  prefix = `{glovebox:${randomUUID()}:calls}`,
) {
  const connection = await connectTo(server.url);
  onTestFinished(() => connection.close());
  const runner = new ScriptRunner(connection);
  const run = (one: ScriptRun): Promise<unknown> => between(one, () => runner.run(one));
  const calls = new RedisDurableCalls({ runner: { run }, seal: Seal.of(SECRET), prefix, room: DEFAULT_DURABLE });
  onTestFinished(() => calls.close());
  return stepsOf(calls, Date.now());
}

const isCommit = ({ script }: ScriptRun): boolean => script === DURABLE_SCRIPTS.commit;

describe("calls that wait in one Redis", () => {
  test("are claimed by one of the servers that want them", async () => {
    const at = place();
    const servers = Array.from({ length: 3 }, () => serverAt(at));
    const [first, second] = servers;
    await first?.pause("c_1", [APPROVAL]);
    await second?.approve("c_1");
    const answers = await Promise.all(servers.map((one, name) => one.claim("c_1", `${name}`)));
    expect(answers.map(({ kind }) => kind).toSorted()).toEqual(["claimed", "lost", "lost"]);
    expect(await first?.call("c_1")).toMatchObject({ state: "running", legs: 1 });
  });

  test("hear nothing more of a run that another server's run has followed", async () => {
    const at = place();
    const [one, other] = [serverAt(at), serverAt(at)];
    await one.pause("c_1", [APPROVAL]);
    await other.approve("c_1");
    const { leg } = claimed(await one.claim("c_1", "one"));
    await one.release("c_1", leg);
    claimed(await other.claim("c_1", "other"));
    expect((await one.append("c_1", leg, [{ seq: 1, part: null, begins: 1 }])).kind).toBe("lost");
    expect((await one.end("c_1", leg)).kind).toBe("lost");
    expect((await other.end("c_1", leg + 1)).kind).toBe("done");
    expect(await one.call("c_1")).toMatchObject({ state: "ended" });
  });

  test("lose no step of those that several servers take at once", async () => {
    const at = place();
    const other = serverAt(at);
    let crossing: Promise<unknown> | null = null;
    const one = await storeOver(async (script, run) => {
      // Another server's step is written between the look of this one and its writing.
      if (isCommit(script)) await (crossing ??= other.signal("c_1", "of another"));
      return run();
    }, `{glovebox:${at.fleet}:calls}`);
    await other.pause("c_1", [APPROVAL]);
    for (let n = 0; n < SIGNALS_MAX; n += 2) {
      crossing = null;
      expect((await one.signal("c_1", n)).kind).toBe("done");
    }
    expect(await other.signal("c_1", "more")).toMatchObject({ kind: "conflict" });
  });

  test("of a parent and its child that end at once are told of each other", async () => {
    for (let round = 0; round < 10; round++) {
      const at = place();
      const [one, other] = [serverAt(at), serverAt(at)];
      await one.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } });
      await one.approve("c_child");
      claimed(await other.claim("c_child"));
      await Promise.all([one.pause("c_parent", [{ kind: "call", id: "c_child" }]), other.end("c_child", 1)]);
      expect(await one.call("c_parent")).toMatchObject({ state: "ready", waits: [{ state: "done" }] });
    }
  });

  test("are ended with their parent, also where they were stored while that ended", async () => {
    const at = place();
    const other = serverAt(at);
    let crossed: Promise<unknown> | null = null;
    const one = await storeOver(async (script, run) => {
      const pauses = isCommit(script) && script.args.includes("c_parent") && (await isPaused());
      if (pauses) await (crossed ??= other.pause("c_child", [APPROVAL], { parent: { id: "c_parent", step: 1 } }));
      return run();
    }, `{glovebox:${at.fleet}:calls}`);
    const isPaused = async (): Promise<boolean> =>
      (await other.take({ kind: "get", id: "c_parent", tenant: null })).kind === "call";
    await one.pause("c_parent", [APPROVAL]);
    expect((await one.cancel("c_parent")).kind).toBe("done");
    expect(crossed).not.toBeNull();
    expect(await other.call("c_child")).toMatchObject({ state: "ended" });
  });

  test("keep within the room of a tenant, however many servers take them", async () => {
    const prefix = `{glovebox:${randomUUID()}:calls}`;
    const room = { ...DEFAULT_DURABLE, perTenant: 5 };
    const connections = await Promise.all([connectTo(server.url), connectTo(server.url)]);
    onTestFinished(async () => void (await Promise.all(connections.map((one) => one.close()))));
    const servers = connections.map((connection) => {
      const parts = { runner: new ScriptRunner(connection), seal: Seal.of(SECRET), prefix, room };
      return stepsOf(new RedisDurableCalls(parts), Date.now());
    });
    const paused = servers.flatMap((one, name) =>
      Array.from({ length: 8 }, (_, n) => one.pause(`c_${name}_${n}`, [APPROVAL], { tenant: "acme" })),
    );
    const kinds = (await Promise.all(paused)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "done")).toHaveLength(5);
    expect(kinds.filter((kind) => kind === "full")).toHaveLength(11);
  });

  test("are settled by the clock of Redis, whatever a server's own says", async () => {
    const at = place();
    const [right, ahead, behind] = [serverAt(at), serverAt(at, HOUR_MS), serverAt(at, -HOUR_MS)];
    await right.pause("c_1", [APPROVAL], { expiresMs: Date.now() + 60_000 });
    await behind.pause("c_2", [APPROVAL], { expiresMs: Date.now() - HOUR_MS + 60_000 });
    const due = await ahead.due();
    expect(due).toMatchObject({ ids: [], lost: [] });
    // It looks again when that is due by its own clock.
    const wakeInMs = (due.kind === "ready" ? (due.wakeMs ?? 0) : 0) - (Date.now() + HOUR_MS);
    expect(wakeInMs).toBeGreaterThan(0);
    expect(wakeInMs).toBeLessThanOrEqual(60_000);
    expect(await ahead.approve("c_1")).toMatchObject({ kind: "done", call: { waits: [{ state: "approved" }] } });
    expect(await right.approve("c_2")).toMatchObject({ kind: "done", call: { waits: [{ state: "approved" }] } });
  });
});

describe("calls that wait in a Redis that others read and write", () => {
  test("are there without their values and names in plain form", async () => {
    const own = await ownServer();
    const one = serverAt(place(own.url));
    const shown = { ...APPROVAL, tool: "tool-of-it", arguments: "argument-of-it", message: "message-of-it" };
    const made = {
      callId: "call-of-it",
      tool: "tool-of-it",
      tenant: "tenant-of-it",
      key: "key-of-it",
      parent: null,
      undoesOnFailure: false,
      createdMs: Date.now(),
      expiresMs: Date.now() + HOUR_MS,
      record: '"record-of-it"',
      script: { hash: "hash-of-it", text: "script-of-it" },
    };
    const call = { id: "c_1", leg: 0, made, runs: '"runs-of-it"', plan: '"plan-of-it"', wakeMs: null };
    const journal = '{"asks":[],"answers":[],"of":"journal-of-it"}';
    const waits = [{ step: 0, wait: shown, openedMs: Date.now(), expiresMs: null }];
    await one.take({ kind: "pause", call: { ...call, journal, waits }, nowMs: Date.now() });
    await one.signal("c_1", "signal-of-it");
    await one.approve("c_1", 0);
    claimed(await one.claim("c_1"));
    const ask = { capability: "desk", method: "pay", args: '"part-of-it"' };
    const part = JSON.stringify({ kept: 0, asks: [ask], answers: [], late: [], together: [] });
    await one.append("c_1", 1, [{ seq: 1, part, begins: null }]);
    await one.end("c_1", 1, '"output-of-it"');
    await own.stop();
    const written = readdirSync(own.dir, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => readFileSync(join(file.parentPath, file.name), "latin1"))
      .join("");
    expect(written).toContain('"state":"ended"');
    expect(written).not.toContain("-of-it");
  });

  test.each(["head", "body"])("are not run, and not shown, once a byte of the %s was changed", async (part) => {
    const at = place();
    const one = serverAt(at);
    await one.pause("c_1", [APPROVAL]);
    await one.approve("c_1");
    const sealed = (await peek.client.hget(keyOf(at.fleet, "c_1"), part)) ?? "";
    const middle = sealed.length >> 1;
    const other = sealed[middle] === "A" ? "B" : "A";
    await peek.client.hset(keyOf(at.fleet, "c_1"), part, sealed.slice(0, middle) + other + sealed.slice(middle + 1));
    expect((await one.claim("c_1")).kind).toBe("lost");
    await expect(one.signal("c_1", 1)).rejects.toMatchObject({
      message: expect.stringContaining("were changed") as string,
      isDamaged: true,
    });
    if (part === "head") await expect(one.call("c_1")).rejects.toThrow("were changed");
  });

  test.each(["head", "body", "run"])("are not run once the %s is gone, or is empty", async (part) => {
    const at = place();
    const one = serverAt(at);
    for (const id of ["c_1", "c_2"]) {
      await one.pause(id, [APPROVAL]);
      await one.approve(id);
    }
    await peek.client.hdel(keyOf(at.fleet, "c_1"), part);
    await peek.client.hset(keyOf(at.fleet, "c_2"), part, "");
    for (const id of ["c_1", "c_2"]) expect((await one.claim(id)).kind).toBe("lost");
  });

  test("are not run in the place of another call, nor with a part of an earlier run", async () => {
    const at = place();
    const one = serverAt(at);
    for (const id of ["c_1", "c_2"]) await one.pause(id, [APPROVAL]);
    await one.approve("c_1");
    const early = await peek.client.hgetall(keyOf(at.fleet, "c_1"));
    await peek.client.hset(keyOf(at.fleet, "c_2"), early);
    await expect(one.call("c_2")).rejects.toThrow("were changed");
    expect((await one.claim("c_2")).kind).toBe("lost");
    const { leg } = claimed(await one.claim("c_1"));
    await one.pause("c_1", [{ ...APPROVAL, digest: "e" }], { leg, from: 2, journal: '{"asks":[{}],"answers":[]}' });
    await peek.client.hset(keyOf(at.fleet, "c_1"), "body", early["body"] ?? "");
    await expect(one.signal("c_1", 1)).rejects.toThrow("were changed");
  });

  test("hold up no other call: what cannot be opened is passed over", async () => {
    const at = place();
    const one = serverAt(at);
    for (const id of ["c_1", "c_2"]) await one.pause(id, [APPROVAL], { expiresMs: Date.now() - 1 });
    await peek.client.hset(keyOf(at.fleet, "c_1"), "head", "nonsense");
    expect(await one.due()).toMatchObject({ ids: ["c_2"] });
    const query = { states: null, tenant: null, tool: null, limit: 10, cursor: null };
    expect(await one.take({ kind: "list", query })).toMatchObject({ page: { calls: [{ id: "c_2" }] } });
    const stranger = serverAt({ ...at, secret: "another secret than theirs" });
    await expect(stranger.call("c_2")).rejects.toThrow("sealed with another secret");
    expect((await one.claim("c_2")).kind).toBe("claimed");
  });
});

describe("a Redis of calls that wait", () => {
  test("that has lost its data knows none of them, and a run that goes on ends nothing", async () => {
    const own = await ownServer();
    const one = serverAt(place(own.url));
    await one.pause("c_1", [APPROVAL]);
    await one.approve("c_1");
    const { leg } = claimed(await one.claim("c_1"));
    await own.stop("SIGKILL");
    for (const file of readdirSync(own.dir)) rmSync(join(own.dir, file), { recursive: true });
    await own.start();
    await expect
      .poll(async () => (await one.take({ kind: "get", id: "c_1", tenant: null })).kind, { timeout: 120_000 })
      .toBe("missing");
    expect((await one.append("c_1", leg, [{ seq: 1, part: null, begins: 1 }])).kind).toBe("lost");
    expect((await one.end("c_1", leg)).kind).toBe("lost");
    expect((await one.pause("c_2", [APPROVAL])).kind).toBe("done");
  });

  test("that is away when a call has to wait: the call hears why, and goes on", async () => {
    const own = await ownServer();
    await using engine = await createEngine({
      workers: 1,
      executor: { kind: "threads" },
      calls: place(own.url),
      policy: { rules: [{ allow: { pause: true } }] },
      tools: [
        {
          name: "order",
          description: "Asks a person, and does without one.",
          capabilities: { pause: true },
          source: `export default async (input, { host }) => {
            try {
              await host.pause.approval({ message: "Order?" });
            } catch (error) {
              return [error.code, error.message];
            }
          };`,
        },
        { name: "gated", description: "Waits.", approval: "always", source: "export default () => 1;" },
      ],
    });
    await own.stop("SIGKILL");
    const { output } = await engine.execute({ name: "order", arguments: {} });
    expect(output).toEqual(["store_failed", expect.stringContaining("cannot be reached")]);
    const { error } = await engine.execute({ name: "gated", arguments: {} });
    expect(error).toMatchObject({ code: "store_failed", message: expect.stringContaining("try again later") });
    await own.start();
    await expect
      .poll(async () => (await engine.execute({ name: "gated", arguments: {} })).error?.code, { timeout: 120_000 })
      .toBe("paused");
  });

  test("that was away makes no run lost whose server was there", async () => {
    const own = await ownServer();
    const at = place(own.url);
    const one = serverAt(at);
    await one.pause("c_1", [APPROVAL]);
    await one.approve("c_1");
    claimed(await one.claim("c_1"));
    const client = await connectTo(own.url);
    onTestFinished(() => client.close());
    // As after a silence of a minute: no server was heard, nor the holder.
    const prefix = `{glovebox:${at.fleet}:calls}:waits`;
    await client.client.hset(`${prefix}:beat`, "last", Date.now() - 60_000, "since", Date.now() - HOUR_MS);
    await client.client.zadd(`${prefix}:holders`, Date.now() - 60_000, "a");
    expect(await one.due()).toMatchObject({ lost: [] });
    // Others were heard all the time.
    await client.client.hset(`${prefix}:beat`, "since", Date.now() - HOUR_MS);
    expect(await one.due()).toMatchObject({ lost: [{ id: "c_1" }] });
  });
});

describe("a step whose answer is lost on its way", () => {
  const twice = async (run: () => Promise<unknown>): Promise<unknown> => run().then(run);
  const unheard = async (run: () => Promise<unknown>): Promise<unknown> => {
    await run();
    throw new LateError("too late");
  };

  const restarted = async (run: () => Promise<unknown>): Promise<unknown> => {
    await run();
    throw new RefusedError("LOADING");
  };

  test.each([
    ["is asked for again", unheard] as const,
    ["was sent again", twice] as const,
    ["was sent again to a Redis that loads its data", restarted] as const,
  ])("and that %s is taken once, and answered as it was", async (_how, lose) => {
    const store = await storeOver((one, run) => (isCommit(one) ? lose(run) : run()));
    expect((await store.pause("c_1", [APPROVAL])).kind).toBe("done");
    for (let n = 0; n < SIGNALS_MAX; n++) expect((await store.signal("c_1", n)).kind).toBe("done");
    expect((await store.signal("c_1", "more")).kind).toBe("conflict");
    expect((await store.approve("c_1")).kind).toBe("done");
    expect(claimed(await store.claim("c_1")).leg).toBe(1);
    expect((await store.end("c_1", 1)).kind).toBe("done");
  });

  test("and that no server can ask for in time may have been taken: a claim is given back", async () => {
    let isAway = false;
    const store = await storeOver(async (one, run) => {
      if (isAway) throw new LateError("away");
      const answer = await run();
      if (!isCommit(one) || !one.args.includes("holder-of-it")) return answer;
      isAway = true;
      throw new LateError("too late");
    });
    await store.pause("c_1", [APPROVAL]);
    await store.approve("c_1");
    await expect(store.claim("c_1", "holder-of-it")).rejects.toMatchObject({ isUnanswered: true });
    isAway = false;
    expect(await store.call("c_1")).toMatchObject({ state: "running" });
    await expect.poll(async () => (await store.call("c_1")).state, { timeout: 120_000 }).toBe("ready");
    expect(claimed(await store.claim("c_1")).leg).toBe(2);
  });
});

test("calls with long journals are taken one after the other, and with all that they have", async () => {
  const at = place();
  const one = serverAt(at);
  const journal = JSON.stringify({ asks: [], answers: [], text: "x".repeat(1.2 * 1024 ** 2) });
  const ids = Array.from({ length: 3 }, (_, n) => `c_${n}`);
  expect(await Promise.all(ids.map((id) => one.pause(id, [APPROVAL], { journal })))).toEqual(
    ids.map(() => ({ kind: "done", call: null })),
  );
  await Promise.all(ids.map((id) => one.approve(id)));
  const lengths = await Promise.all(ids.map(async (id) => claimed(await one.claim(id)).journal.length));
  expect(lengths).toEqual(ids.map(() => journal.length));
});
