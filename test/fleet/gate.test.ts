import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Queue, Worker } from "bullmq";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { FleetGate, type Place } from "../../src/fleet/gate.ts";
import type { Claim } from "../../src/fleet/gate-caps.ts";
import { FleetKeys } from "../../src/fleet/keys.ts";
import { moveWaiting, noteTaken, orderKeys, placeOf, type Turn } from "../../src/fleet/turn.ts";
import { RedisConnection } from "../../src/redis/connection.ts";
import { type RedisServer, startRedis } from "../redis-server.ts";

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
  readonly #gates: FleetGate[] = [];

  gate(options: Partial<ConstructorParameters<typeof FleetGate>[2]> = {}, over = connection): FleetGate {
    const gate = new FleetGate(over, this.keys, {
      server: `s${this.#gates.length}`,
      perTenant: Infinity,
      perTool: Infinity,
      onRoom: () => undefined,
      onMove: () => undefined,
      ...options,
    });
    this.#gates.push(gate);
    return gate;
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

function claim(parts: Partial<Claim> = {}): Claim {
  return { id: `c${++ids}`, tenant: "acme", tool: "echo", priority: 0, cost: 1, ...parts };
}

function claims(count: number, parts: Partial<Claim> = {}): Claim[] {
  return Array.from({ length: count }, () => claim(parts));
}

/** The queue of a fleet, as BullMQ orders it: by place, first in first out among equals. */
class Line {
  #waiting: Place[] = [];
  readonly #fleet: Fleet;
  readonly tenants = new Map<string, string>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async add(gate: FleetGate, some: readonly Claim[]): Promise<void> {
    for (const { id, tenant } of some) this.tenants.set(id, tenant);
    const { places } = await gate.admit(some);
    this.#waiting.push(...places);
    this.#waiting.sort((a, b) => a.priority - b.priority);
  }

  /** A machine takes so many; answers whose they were. */
  async take(count: number): Promise<string[]> {
    const taken = this.#waiting.splice(0, count);
    await noteTaken(
      connection.client,
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
  expect(heavy).toBe(20);
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
      const due = ({ tag, level }: Turn): number => tag - 64 * level;
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
  readonly gate: FleetGate;
  #held: Claim[] = [];
  readonly running: Claim[] = [];
  readonly order: string[] = [];
  #asking = Promise.resolve();

  constructor(fleet: Fleet, caps: { readonly perTenant: number; readonly perTool: number }, over = connection) {
    this.gate = fleet.gate({ ...caps, onRoom: () => this.hand([]) }, over);
  }

  get held(): number {
    return this.#held.length;
  }

  hand(some: readonly Claim[]): void {
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

function most(servers: readonly Server[], of: (claim: Claim) => string): number {
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
      await vi.waitUntil(
        () => {
          for (const server of servers) if (server.running.length > 0) server.end(0);
          return servers.every(({ held, running }) => held === 0 && running.length === 0);
        },
        { timeout: 20_000, interval: 5 },
      );
    },
  );
  await fc.assert(property, { numRuns: 20 });
}, 60_000);
