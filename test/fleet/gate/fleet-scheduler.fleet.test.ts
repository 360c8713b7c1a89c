import { randomUUID } from "node:crypto";
import { Queue, Worker } from "bullmq";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { FleetScheduler, type QueuePlace } from "../../../src/fleet/gate/fleet-scheduler.ts";
import { type AdmissionRequest, shortName } from "../../../src/fleet/gate/caps.ts";
import { FleetKeys } from "../../../src/fleet/wire/keys.ts";
import { moveWaiting, recordTaken, orderKeys, placeOf, type JobTurn } from "../../../src/fleet/gate/turn.ts";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { FLEET_TIMINGS, scaled } from "../../../src/fleet/wire/fleet-timings.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";

/** Leases and places that outlast a test on a busy machine, and servers that soon ask again. */
const TIMINGS = { ...FLEET_TIMINGS, waiterMs: FLEET_TIMINGS.leaseMs, retryMs: 100 };
/** For what comes by itself, on a machine that may have much else to do. */
const soon = { timeout: 120_000, interval: 5 };

let redis: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  redis = await startRedis();
  connection = RedisConnection.open(redis.url, "test");
  await connection.ready(5_000);
});

afterAll(async () => {
  await connection.close();
  await redis[Symbol.asyncDispose]();
});

/** A fleet of a test's own, whose gates end with it. */
class Fleet implements AsyncDisposable {
  readonly keys = new FleetKeys(randomUUID());
  readonly #gates: FleetScheduler[] = [];

  gate(options: Partial<ConstructorParameters<typeof FleetScheduler>[2]> = {}, over = connection): FleetScheduler {
    const gate = new FleetScheduler(over, this.keys, {
      server: `s${this.#gates.length}`,
      timings: TIMINGS,
      perTenant: Infinity,
      perTool: Infinity,
      onRoom: () => undefined,
      onMove: () => undefined,
      ...options,
    });
    this.#gates.push(gate);
    return gate;
  }

  /** Resolves when the gates that have caps hear what they are told. */
  async listening(): Promise<void> {
    const pattern = this.keys.of("gate", "room", "*");
    await vi.waitUntil(async () => {
      const heard = await connection.client.call("PUBSUB", "CHANNELS", pattern.replaceAll(/[{}]/g, "?"));
      return Array.isArray(heard) && heard.length === this.#gates.length;
    }, soon);
  }

  async leases(): Promise<number> {
    const names = await connection.client.keys(this.keys.of("gate", "*", "leases"));
    const counts = await Promise.all(names.map((name) => connection.client.zcard(name)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const gate of this.#gates) await gate[Symbol.asyncDispose]();
  }
}

let ids = 0;

function claim(parts: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return { id: `c${++ids}`, tenant: "acme", tool: "echo", priority: 0, cost: 1, ...parts };
}

function claims(count: number, parts: Partial<AdmissionRequest> = {}): AdmissionRequest[] {
  return Array.from({ length: count }, () => claim(parts));
}

/** The queue of a fleet, as BullMQ orders it: by place, first in first out among equals. */
class Line {
  #waiting: QueuePlace[] = [];
  readonly #fleet: Fleet;
  readonly tenants = new Map<string, string>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async add(gate: FleetScheduler, some: readonly AdmissionRequest[]): Promise<void> {
    for (const { id, tenant } of some) this.tenants.set(id, tenant);
    const { places } = await gate.admit(some);
    this.#waiting.push(...places);
    this.#waiting.sort((a, b) => a.priority - b.priority);
  }

  /** A machine takes so many; answers whose they were. */
  async take(count: number): Promise<string[]> {
    const taken = this.#waiting.splice(0, count);
    await recordTaken(
      connection,
      this.#fleet.keys,
      taken.map(({ turn }) => turn),
    );
    return taken.map(({ id }) => this.tenants.get(id) ?? "");
  }
}

test("a tenant with one call goes next, whatever another tenant has waiting at another server", async () => {
  await using fleet = new Fleet();
  const line = new Line(fleet);
  await line.add(fleet.gate(), claims(500, { tenant: "heavy" }));
  expect(await line.take(3)).toEqual(["heavy", "heavy", "heavy"]);
  await line.add(fleet.gate(), [claim({ tenant: "light" })]);
  expect(await line.take(2)).toContain("light");
});

test("claims that are handed in together have the turns that they would have one by one, with caps and without", async () => {
  const parts = fc.record({
    tenant: fc.constantFrom("a", "b", "c"),
    priority: fc.constantFrom(-1, 0, 2),
    cost: fc.constantFrom(1, 1 / 128),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(parts, { minLength: 1, maxLength: 20 }), async (some) => {
      const asked = some.map((part) => claim(part));
      const turnsOf = async (options: Parameters<Fleet["gate"]>[0], atOnce: number) => {
        await using fleet = new Fleet();
        const gate = fleet.gate(options);
        const places: QueuePlace[] = [];
        for (let at = 0; at < asked.length; at += atOnce)
          places.push(...(await gate.admit(asked.slice(at, at + atOnce))).places);
        return new Map(places.map(({ id, turn }) => [id, turn]));
      };
      const single = await turnsOf({}, 1);
      expect(single.size).toBe(asked.length);
      expect(await turnsOf({}, asked.length)).toEqual(single);
      expect(await turnsOf({ perTenant: 1_000 }, asked.length)).toEqual(single);
    }),
    { numRuns: 20 },
  );
});

test("tenants with much to do take turns", async () => {
  await using fleet = new Fleet();
  const line = new Line(fleet);
  await line.add(fleet.gate(), claims(50, { tenant: "a" }));
  await line.add(fleet.gate(), claims(50, { tenant: "b" }));
  const taken = await line.take(40);
  expect(taken.filter((tenant) => tenant === "a")).toHaveLength(20);
});

test("a tenant with much to do is not starved by ever new tenants with little", async () => {
  await using fleet = new Fleet();
  const line = new Line(fleet);
  const gate = fleet.gate();
  await line.add(gate, claims(20, { tenant: "heavy" }));
  let heavy = 0;
  for (let round = 0; round < 200; round++) {
    await line.add(gate, [claim({ tenant: `new${2 * round}` }), claim({ tenant: `new${2 * round + 1}` })]);
    heavy += (await line.take(2)).filter((tenant) => tenant === "heavy").length;
  }
  // As many new ones as were passed over wait by now, and each of them has its share as well.
  expect(heavy).toBeGreaterThan(10);
});

test("calls that share a job cost their tenant a share of one", async () => {
  await using fleet = new Fleet();
  const { places } = await fleet.gate().admit(claims(8, { cost: 1 / 4 }));
  expect(places.map(({ turn }) => turn.tag)).toEqual([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]);
});

test("a higher priority goes ahead", async () => {
  await using fleet = new Fleet();
  const line = new Line(fleet);
  await line.add(fleet.gate(), claims(30, { tenant: "a" }));
  await line.add(fleet.gate(), claims(3, { tenant: "b", priority: 1 }));
  await line.add(fleet.gate(), claims(3, { tenant: "c", priority: 10 }));
  await line.add(fleet.gate(), claims(3, { tenant: "d", priority: -1 }));
  expect((await line.take(6)).join("")).toBe("cccbbb");
  expect((await line.take(33)).slice(-3).join("")).toBe("ddd");
});

test("priority is a head start and no more: the lowest comes to its turn while the highest goes on", async () => {
  await using fleet = new Fleet();
  const line = new Line(fleet);
  const gate = fleet.gate();
  await line.add(gate, [claim({ tenant: "low", priority: -10 })]);
  const taken: string[] = [];
  for (let round = 0; round < 100 && !taken.includes("low"); round++) {
    await line.add(gate, claims(30, { tenant: "high", priority: 10 }));
    taken.push(...(await line.take(30)));
  }
  expect(taken).toContain("low");
});

test("high priority of some leaves those who come new without any a fair share of the rest", async () => {
  await using fleet = new Fleet();
  const line = new Line(fleet);
  const gate = fleet.gate();
  await line.add(gate, claims(200, { tenant: "old" }));
  await line.add(gate, claims(300, { tenant: "high", priority: 10 }));
  expect(new Set(await line.take(300))).toEqual(new Set(["high"]));
  await line.add(gate, claims(200, { tenant: "new" }));
  const rest = await line.take(200);
  expect(rest.filter((tenant) => tenant === "new").length).toBeGreaterThan(20);
});

test("whoever has nothing more waiting is forgotten, and all of it expires", async () => {
  await using fleet = new Fleet();
  const line = new Line(fleet);
  const gate = fleet.gate({ perTenant: 5, perTool: 5 });
  for (let tenant = 0; tenant < 30; tenant++) {
    await line.add(gate, [claim({ tenant: `t${tenant}`, tool: `t${tenant}` })]);
  }
  await line.take(30);
  await line.add(gate, claims(10));
  await line.take(10);
  const [, tenants] = orderKeys(fleet.keys);
  expect(await connection.client.zcard(tenants)).toBeLessThanOrEqual(1);
  const names = await connection.client.keys(fleet.keys.of("*"));
  expect(names.length).toBeGreaterThan(3);
  for (const name of names) expect(await connection.client.pttl(name)).toBeGreaterThan(0);
});

test("places are always ones that BullMQ has, and in the order of their turns", async () => {
  const turn = fc.record({
    tag: fc.double({ min: 0, max: 2 ** 40, noNaN: true }),
    level: fc.integer({ min: -10, max: 10 }),
  });
  fc.assert(
    fc.property(turn, turn, fc.integer({ min: -640, max: 2 ** 40 }), (a, b, base) => {
      const places = [placeOf(a, base), placeOf(b, base)];
      for (const place of places) expect(Number.isInteger(place) && place >= 1 && place <= 2 ** 21).toBe(true);
      const due = ({ tag, level }: JobTurn): number => tag - 64 * level;
      if (due(a) < due(b)) expect(placeOf(a, base)).toBeLessThanOrEqual(placeOf(b, base));
    }),
  );
});

test("without caps no leases are written", async () => {
  await using fleet = new Fleet();
  const { held } = await fleet.gate().admit(claims(100));
  expect(held).toEqual([]);
  expect((await connection.client.keys(fleet.keys.of("*"))).sort()).toEqual([orderKeys(fleet.keys)[1]]);
});

test("the caps hold over all servers, both or none for each claim", async () => {
  await using fleet = new Fleet();
  const caps = { perTenant: 3, perTool: 2 };
  const [a, b] = [fleet.gate(caps), fleet.gate(caps)];
  expect((await a.admit(claims(2, { tool: "x" }))).places).toHaveLength(2);
  expect((await b.admit(claims(1, { tool: "x" }))).held).toHaveLength(1);
  expect((await b.admit(claims(2, { tool: "y" }))).places).toHaveLength(1);
  expect(await fleet.leases()).toBe(6);
});

/** A server as the executor is one: it hands in again what was held, before what is new, and ends calls. */
class Server {
  readonly gate: FleetScheduler;
  #held: AdmissionRequest[] = [];
  readonly running: AdmissionRequest[] = [];
  readonly order: string[] = [];
  #asking = Promise.resolve();

  constructor(fleet: Fleet, caps: { readonly perTenant: number; readonly perTool: number }, over = connection) {
    this.gate = fleet.gate({ ...caps, onRoom: () => this.hand([]) }, over);
  }

  get held(): number {
    return this.#held.length;
  }

  hand(some: readonly AdmissionRequest[]): void {
    this.#asking = this.#asking.then(async () => {
      const all = [...this.#held, ...some];
      this.#held = [];
      const { places } = await this.gate.admit(all);
      const admitted = new Set(places.map(({ id }) => id));
      this.running.push(...all.filter(({ id }) => admitted.has(id)));
      this.order.push(...places.map(({ id }) => id));
      this.#held.push(...all.filter(({ id }) => !admitted.has(id)));
    });
  }

  /** Ends one that runs, or no longer wants one that is held. */
  end(pick: number): void {
    const from = this.running.length > 0 ? this.running : this.#held;
    const [ended] = from.splice(pick % Math.max(1, from.length), 1);
    if (ended !== undefined) this.gate.release([ended.id]);
  }

  settled(): Promise<void> {
    return this.#asking;
  }
}

function most(servers: readonly Server[], of: (claim: AdmissionRequest) => string): number {
  const counts = Map.groupBy(
    servers.flatMap(({ running }) => running),
    of,
  );
  return Math.max(0, ...[...counts.values()].map((group) => group.length));
}

test("never more than a cap is had at once, and all is had in the end, whatever comes in whichever order", async () => {
  const step = fc.oneof(
    fc.record({ server: fc.nat(2), tenants: fc.array(fc.tuple(fc.nat(1), fc.nat(1)), { maxLength: 6 }) }),
    fc.record({ server: fc.nat(2), end: fc.nat(20) }),
    fc.record({ server: fc.nat(2), renew: fc.constant(true) }),
    fc.record({ server: fc.nat(2), settle: fc.constant(true) }),
  );
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 4 }),
    fc.integer({ min: 1, max: 4 }),
    fc.array(step, { maxLength: 40 }),
    async (perTenant, perTool, steps) => {
      await using fleet = new Fleet();
      const servers = [0, 1, 2].map(() => new Server(fleet, { perTenant, perTool }));
      for (const each of steps) {
        const server = servers[each.server];
        if ("tenants" in each)
          server?.hand(each.tenants.map(([tenant, tool]) => claim({ tenant: `${tenant}`, tool: `${tool}` })));
        else if ("end" in each) server?.end(each.end);
        else if ("renew" in each) await server?.gate.renew();
        else await server?.settled();
        expect(most(servers, ({ tenant }) => tenant)).toBeLessThanOrEqual(perTenant);
        expect(most(servers, ({ tool }) => tool)).toBeLessThanOrEqual(perTool);
      }
      for (const server of servers) await server.settled();
      await vi.waitUntil(() => {
        for (const server of servers) if (server.running.length > 0) server.end(0);
        return servers.every(({ held, running }) => held === 0 && running.length === 0);
      }, soon);
    },
  );
  await fc.assert(property, { numRuns: 20 });
}, 300_000);

test("who waits for room is sent word of it, and nobody is where nobody waits", async () => {
  await using fleet = new Fleet();
  const messages: string[] = [];
  await using listener = RedisConnection.open(redis.url, "listener");
  listener.client.on("pmessage", (_pattern, channel: string) => messages.push(channel));
  await listener.client.psubscribe(`${fleet.keys.prefix}*`);
  const [a, b] = [
    new Server(fleet, { perTenant: 1, perTool: Infinity }),
    new Server(fleet, { perTenant: 1, perTool: Infinity }),
  ];
  await fleet.listening();
  a.hand([claim()]);
  await a.settled();
  a.end(0);
  a.hand([claim()]);
  await a.settled();
  expect(a.running).toHaveLength(1);
  expect(messages).toEqual([]);
  b.hand([claim()]);
  await b.settled();
  expect(b.held).toBe(1);
  a.end(0);
  await vi.waitUntil(() => b.running.length === 1, soon);
  expect(messages).toEqual([fleet.keys.of("gate", "room", "s1")]);
});

test("what is held gets its turn by its age, at whichever server it is, and newer calls do not overtake it", async () => {
  await using fleet = new Fleet();
  const caps = { perTenant: Infinity, perTool: 1 };
  const [a, b, c] = [new Server(fleet, caps), new Server(fleet, caps), new Server(fleet, caps)];
  const begun: string[] = [];
  await fleet.listening();
  for (const [server, id] of [
    [a, "first"],
    [b, "second"],
    [c, "third"],
    [a, "fourth"],
  ] as const) {
    server.hand([claim({ id })]);
    await server.settled();
  }
  for (let turn = 0; turn < 4; turn++) {
    await vi.waitUntil(() => [a, b, c].some(({ running }) => running.length > 0), soon);
    const server = [a, b, c].find(({ running }) => running.length > 0);
    begun.push(server?.running[0]?.id ?? "");
    server?.end(0);
  }
  expect(begun).toEqual(["first", "second", "third", "fourth"]);
});

test("room that somebody waits for is not given to who comes new, as long as the one that waits asks for it", async () => {
  await using fleet = new Fleet();
  const caps = { perTenant: Infinity, perTool: 2 };
  const [a, b, c] = [fleet.gate(caps), fleet.gate(caps), fleet.gate(caps)];
  await fleet.listening();
  const [first, second, waiting, fresh] = [claim(), claim(), claim(), claim()];
  await a.admit([first, second]);
  expect((await b.admit([waiting])).held).toEqual([waiting.id]);
  a.release([first.id]);
  await vi.waitUntil(async () => (await fleet.leases()) === 1, soon);
  expect((await c.admit([fresh])).held).toEqual([fresh.id]);
  a.release([second.id]);
  await vi.waitUntil(async () => (await fleet.leases()) === 0, soon);
  // There is room for both that wait, and for nobody else.
  expect((await a.admit(claims(1))).places).toEqual([]);
  await vi.waitUntil(async () => (await b.admit([waiting])).places.length === 1, soon);
  await vi.waitUntil(async () => (await c.admit([fresh])).places.length === 1, soon);
});

test("who has come to its turn at one cap keeps it while another holds it", async () => {
  await using fleet = new Fleet();
  const caps = { perTenant: 1, perTool: 1 };
  const [a, b, c] = [fleet.gate(caps), fleet.gate(caps), fleet.gate(caps)];
  await fleet.listening();
  const both = claim({ tenant: "t", tool: "x" });
  const [ofTool, ofTenant] = [claim({ tenant: "u", tool: "x" }), claim({ tenant: "t", tool: "y" })];
  await a.admit([ofTool]);
  expect((await b.admit([both])).held).toEqual([both.id]);
  await c.admit([ofTenant]);
  a.release([ofTool.id]);
  await vi.waitUntil(async () => (await fleet.leases()) === 2, soon);
  await vi.waitUntil(async () => {
    await b.admit([both]);
    const waits = fleet.keys.of("gate", "tenant", shortName("t"), "waits");
    return (await connection.client.exists(waits)) === 1;
  }, soon);
  expect((await a.admit([claim({ tenant: "v", tool: "x" })])).places).toEqual([]);
  c.release([ofTenant.id]);
  await vi.waitUntil(async () => (await b.admit([both])).places.length === 1, soon);
});

test("a call that needs room at two caps is not starved by calls that need one of them", async () => {
  await using fleet = new Fleet();
  const caps = { perTenant: 1, perTool: 1 };
  const [a, b, both] = [new Server(fleet, caps), new Server(fleet, caps), new Server(fleet, caps)];
  await fleet.listening();
  let handed = 0;
  const more = (): void => {
    handed += 4;
    a.hand(claims(2, { tenant: "t", tool: "other" }));
    b.hand(claims(2, { tenant: "other", tool: "x" }));
  };
  more();
  await Promise.all([a.settled(), b.settled()]);
  both.hand([claim({ tenant: "t", tool: "x" })]);
  await both.settled();
  await vi.waitUntil(() => {
    more();
    for (const server of [a, b]) if (server.running.length > 0) server.end(0);
    return both.running.length === 1;
  }, soon);
  expect(a.order.length + b.order.length).toBeLessThan(handed);
}, 40_000);

test("leases and turns of a server that is lost expire, and nobody has to be told", async () => {
  await using fleet = new Fleet();
  await using lost = RedisConnection.open(redis.url, "lost");
  await lost.ready(5_000);
  const timings = scaled(0.1);
  const caps = { perTenant: 2, perTool: Infinity, timings };
  const gone = new Server(fleet, caps, lost);
  const kept = new Server(fleet, caps);
  kept.hand([claim()]);
  await kept.settled();
  gone.hand(claims(3));
  await gone.settled();
  expect([gone.running.length, gone.held]).toEqual([1, 1 + 1]);
  lost.client.disconnect();
  kept.hand([claim(), claim()]);
  const renewing = setInterval(() => void kept.gate.renew(), timings.leaseRenewMs);
  // The lease of the lost one ends; that of the other is renewed, and stays.
  await vi.waitUntil(() => kept.running.length === 2, { timeout: 120_000, interval: 50 });
  clearInterval(renewing);
  expect(kept.held).toBe(1);
  expect(await fleet.leases()).toBe(2);
}, 40_000);

test("what is held may be given up, and others get its turn", async () => {
  await using fleet = new Fleet();
  const caps = { perTenant: 1, perTool: Infinity };
  const [a, b, c] = [fleet.gate(caps), fleet.gate(caps), new Server(fleet, caps)];
  const [running, waiting] = [claim(), claim()];
  await fleet.listening();
  await a.admit([running]);
  await b.admit([waiting]);
  c.hand([claim()]);
  await c.settled();
  b.release([waiting.id]);
  a.release([running.id]);
  await vi.waitUntil(() => c.running.length === 1, soon);
  expect(await connection.client.keys(fleet.keys.of("gate", "*", "waits"))).toEqual([]);
});

test("a gate that ends gives its leases back", async () => {
  await using fleet = new Fleet();
  const gate = fleet.gate({ perTenant: 5, perTool: 5 });
  await gate.admit(claims(9));
  expect(await fleet.leases()).toBe(10);
  await gate[Symbol.asyncDispose]();
  expect(await fleet.leases()).toBe(0);
});

test("where Redis has lost everything the order begins again, and leases are there again when they are renewed", async () => {
  await using own = await startRedis();
  await using link = RedisConnection.open(own.url, "own");
  await link.ready(5_000);
  await using fleet = new Fleet();
  const gate = fleet.gate({ perTenant: 4, perTool: Infinity }, link);
  const first = await gate.admit(claims(3));
  await recordTaken(
    link,
    fleet.keys,
    first.places.map(({ turn }) => turn),
  );
  await link.client.flushall();
  await link.client.script("FLUSH");
  await gate.renew();
  const next = await gate.admit(claims(2));
  expect(next.places.map(({ turn }) => turn.tag)).toEqual([0]);
  expect(next.held).toHaveLength(1);
  await gate[Symbol.asyncDispose]();
});

test("while Redis is away all is held, and gets its places when it is back", async () => {
  await using own = await startRedis();
  await using link = RedisConnection.open(own.url, "own");
  await link.ready(5_000);
  await using fleet = new Fleet();
  const server = new Server(fleet, { perTenant: 3, perTool: Infinity }, link);
  await own.stop("SIGKILL");
  server.hand(claims(5));
  await server.settled();
  expect(server.held).toBe(5);
  await own.start();
  await vi.waitUntil(() => server.running.length === 3, soon);
  expect(server.held).toBe(2);
  await server.gate[Symbol.asyncDispose]();
}, 40_000);

test("on a cluster it is the same", async () => {
  await using own = await startRedis({ args: ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"] });
  await using node = RedisConnection.open(own.url, "node");
  await node.ready(5_000);
  await node.client.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await vi.waitUntil(async () => String(await node.client.call("CLUSTER", "INFO")).includes("cluster_state:ok"), soon);
  await using link = RedisConnection.open(own.url.replace("redis:", "redis+cluster:"), "cluster");
  await link.ready(10_000);
  await using fleet = new Fleet();
  const [a, b] = [0, 1].map(() => new Server(fleet, { perTenant: 2, perTool: 2 }, link));
  a?.hand(claims(2));
  await a?.settled();
  b?.hand(claims(2));
  await b?.settled();
  expect([a?.running.length, b?.held]).toEqual([2, 2]);
  await a?.gate.renew();
  await recordTaken(link, fleet.keys, [{ tag: 5, level: 0 }]);
  a?.end(0);
  await vi.waitUntil(() => b?.running.length === 1, soon);
  for (const server of [a, b]) await server?.gate[Symbol.asyncDispose]();
});

test("an answer that comes too late leaves no leases behind", async () => {
  await using own = await startRedis();
  await using link = RedisConnection.open(own.url, "own");
  await using other = RedisConnection.open(own.url, "other");
  await link.ready(5_000);
  await other.ready(5_000);
  await using fleet = new Fleet();
  const onRoom = vi.fn();
  const gate = fleet.gate({ perTenant: 3, perTool: Infinity, onRoom }, link);
  await other.client.call("CLIENT", "PAUSE", "60000", "WRITE");
  const asked = claims(2);
  expect((await gate.admit(asked)).held).toEqual(asked.map(({ id }) => id));
  // Nothing more is asked until it is known what came of the first.
  expect((await gate.admit(asked)).held).toHaveLength(2);
  await other.client.call("CLIENT", "UNPAUSE");
  await vi.waitUntil(async () => (await gate.admit(asked)).places.length === 2, soon);
  expect(onRoom).toHaveBeenCalled();
  const [leases = ""] = await other.client.keys(fleet.keys.of("gate", "*", "leases"));
  expect(await other.client.zcard(leases)).toBe(2);
  await gate[Symbol.asyncDispose]();
});

/** The order as it is after millions of jobs: near the end of the window. */
async function age(fleet: Fleet, v: number): Promise<void> {
  const [order] = orderKeys(fleet.keys);
  await connection.client.hset(order, "v", v);
}

test("when places come near their end the base moves, once, and one server is told to move what waits", async () => {
  await using fleet = new Fleet();
  const onMove = vi.fn();
  const [a, b] = [fleet.gate({ onMove }), fleet.gate({ onMove })];
  await age(fleet, 1_572_000);
  // Only for its low priority is it so far behind.
  await a.admit(claims(1));
  expect(onMove).not.toHaveBeenCalled();
  const { places } = await a.admit(claims(2, { tenant: "low", priority: -10 }));
  await b.admit(claims(2));
  expect(onMove.mock.calls).toEqual([[1_572_000 - 640]]);
  // The places are of the same base for who was told and who was not.
  expect((await b.admit(claims(1, { tenant: "other" }))).places[0]?.priority).toBeLessThan(1_000);
  expect(places.map(({ turn }) => turn.tag)).toEqual([1_572_000, 1_572_001]);
});

test("where the server that was told to move what waits is lost, another is told", async () => {
  await using fleet = new Fleet();
  const onMove = vi.fn();
  await age(fleet, 1_600_000);
  await fleet.gate().admit(claims(1));
  const other = fleet.gate({ onMove });
  await other.renew();
  expect(onMove).not.toHaveBeenCalled();
  const [order] = orderKeys(fleet.keys);
  await connection.client.hset(order, "mover", 1);
  await other.renew();
  await other.renew();
  expect(onMove.mock.calls).toEqual([[1_600_000 - 640]]);
});

interface Data {
  readonly turn: JobTurn;
}

test("what waits in BullMQ's queue is moved while machines take jobs: each is taken once, and then all in their turn", async () => {
  await using fleet = new Fleet();
  const options = { connection: { url: redis.url }, prefix: fleet.keys.prefix };
  const queue = new Queue<Data>("calls", options);
  const machine = new Worker<Data>("calls", null, { ...options, autorun: false });
  const bases: number[] = [];
  const gate = fleet.gate({ onMove: (base) => bases.push(base) });
  const add = async (some: readonly AdmissionRequest[]): Promise<void> => {
    const { places } = await gate.admit(some);
    await queue.addBulk(
      places.map(({ id, turn, priority }) => ({
        name: "batch",
        data: { turn },
        opts: { jobId: id, priority, removeOnComplete: true },
      })),
    );
  };
  const taken: { readonly id: string; readonly tag: number }[] = [];
  const take = async (count: number): Promise<void> => {
    for (let each = 0; each < count; each++) {
      const job = await machine.getNextJob("token", { block: false });
      if (job === undefined) return;
      taken.push({ id: job.id ?? "", tag: job.data.turn.tag });
      await recordTaken(connection, fleet.keys, [job.data.turn]);
      await job.moveToCompleted("done", "token", false);
    }
  };
  await age(fleet, 1_571_500);
  const [first, second] = [claims(600, { tenant: "old" }), claims(200, { tenant: "old" })];
  const young = claims(50, { tenant: "young" });
  await add(first);
  await take(1);
  expect(bases).toEqual([]);
  await add(second);
  const [base = 0] = bases;
  expect(base).toBeGreaterThan(0);
  await add(young);
  await Promise.all([moveWaiting(queue, base, ({ turn }) => turn), take(60)]);
  await moveWaiting(queue, base, ({ turn }) => turn);
  expect(await moveWaiting(queue, base, ({ turn }) => turn)).toBe(0);
  for (const job of await queue.getPrioritized()) expect(job.priority).toBe(placeOf(job.data.turn, base));
  const before = taken.length;
  await take(1_000);
  const tags = taken.slice(before).map(({ tag }) => tag);
  expect(tags).toEqual([...tags].sort((a, b) => a - b));
  expect(taken.map(({ id }) => id).sort()).toEqual([...first, ...second, ...young].map(({ id }) => id).sort());
  await machine.close();
  await queue.close();
});
