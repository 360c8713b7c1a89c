/**
 * What a fleet asks of Redis, measured on this machine against a `redis-server` of its own with an append-only file.
 *
 * Redis does everything on one thread, so its capacity follows from the processor time that each operation takes of that
 * thread (`INFO cpu`, the main thread alone): unlike a duration, it depends little on what else the machine does. It
 * includes reading from sockets and writing to them, which `INFO commandstats` leaves out; that one is given beside it.
 * Eight connections have one operation on its way each, so nothing is made cheaper by pipelining than it would be.
 */
import { type Job, Queue, Worker } from "bullmq";
import { schedulerScripts, TAKEN } from "../../src/fleet/gate/scheduler-scripts.ts";
import { orderKeys } from "../../src/fleet/gate/turn.ts";
import { FLEET_TIMINGS } from "../../src/fleet/wire/fleet-timings.ts";
import { FleetKeys } from "../../src/fleet/wire/keys.ts";
import { type RedisClient, RedisConnection } from "../../src/fleet/redis/connection.ts";
import { startRedis } from "../../test/redis-server.ts";
import { median } from "../statistics.ts";
import { type Cost, type Costs, fit, type OperationName, OPERATIONS } from "./costs.ts";
import { Meter, type Sample } from "./meter.ts";

/** One operation at one size: the medians of the rounds. */
export interface Measured extends Sample {
  readonly operation: OperationName;
  /** What was carried: "64 calls of 100 B". */
  readonly load: string;
  /** Calls for the gate, KB for all others. */
  readonly size: number;
  /** The least and the greatest `redisUs` of the rounds. */
  readonly redisUsMin: number;
  readonly redisUsMax: number;
}

export interface MeasureOptions {
  readonly rounds: number;
  /** Operations of a round where the load is small; a tenth of them where it is large. */
  readonly times: number;
  readonly progress?: (text: string) => void;
}

interface Load {
  readonly calls: number;
  readonly bytesPerCall: number;
}

interface Found {
  readonly operation: OperationName;
  readonly load: string;
  readonly size: number;
  readonly sample: Sample;
}

const LANES = 8;
const LOADS: readonly Load[] = [
  { calls: 1, bytesPerCall: 100 },
  { calls: 64, bytesPerCall: 100 },
  { calls: 1, bytesPerCall: 10_000 },
  { calls: 64, bytesPerCall: 10_000 },
];
const [SMALLEST] = LOADS;
const GATE_CALLS = [1, 64];
/** Bytes of a call's data that are not its text. */
const FRAME_BYTES = 26;
const KB = 1_000;
const LARGE_KB = 100;
const LARGE_SHARE = 0.1;
const LOCK_MS = 30_000;
const BEAT_MS = 10_000;
const PRIORITY_MAX = 2_097_152;
const GOLDEN = 0.618_034;
const STREAM_MAX = 1_000;
const TENANTS = 200;
const WARM_UPS = 300;

/** Measures all operations, round by round, each round with a Redis of its own. */
export async function measureFleet(options: MeasureOptions): Promise<readonly Measured[]> {
  const { rounds, times, progress = () => {} } = options;
  const found: Found[] = [];
  for (let round = 0; round < rounds; round++) {
    progress(`measuring, round ${round + 1} of ${rounds}`);
    await using server = await startRedis();
    await using bench = await FleetBench.open(server.url);
    for (const load of round % 2 === 0 ? LOADS : LOADS.toReversed()) found.push(...(await bench.carry(load, times)));
    found.push(...(await bench.others(times)));
  }
  const groups = Map.groupBy(found, ({ operation, load }) => `${operation}, ${load}`);
  return [...groups.values()].map(summarize).toSorted(byOperation);
}

/** What was measured as a fixed cost of each operation and one that grows with its size. */
export function costsFrom(measured: readonly Measured[]): Costs {
  const costs = new Map<OperationName, Cost>();
  for (const [operation, points] of Map.groupBy(measured, (each) => each.operation)) {
    const line = (value: (point: Measured) => number) =>
      fit(points.map((point) => ({ size: point.size, value: value(point) })));
    costs.set(operation, {
      redisUs: line((point) => point.redisUs),
      clientUs: line((point) => point.clientUs),
      wireBytes: line((point) => point.wireBytes),
    });
  }
  return costs;
}

function summarize(found: readonly Found[]): Measured {
  const [first] = found;
  if (first === undefined) throw new RangeError("there is no median of nothing");
  const of = (field: keyof Sample) => found.map(({ sample }) => sample[field]);
  return {
    operation: first.operation,
    load: first.load,
    size: first.size,
    redisUs: median(of("redisUs")),
    redisUsMin: Math.min(...of("redisUs")),
    redisUsMax: Math.max(...of("redisUs")),
    commandUs: median(of("commandUs")),
    clientUs: median(of("clientUs")),
    wireBytes: median(of("wireBytes")),
    wallUs: median(of("wallUs")),
  };
}

function byOperation(a: Measured, b: Measured): number {
  return OPERATIONS.indexOf(a.operation) - OPERATIONS.indexOf(b.operation) || a.size - b.size;
}

/** Both sides of a fleet for one operation after the other. A lane is a server, a machine, and who reads mail. */
interface Lane {
  readonly server: RedisClient;
  readonly reader: RedisClient;
  readonly queue: Queue;
  readonly worker: Worker;
  readonly token: string;
}

class FleetBench implements AsyncDisposable {
  readonly #keys = new FleetKeys("bench");
  readonly #owned = new AsyncDisposableStack();
  readonly #lanes: readonly Lane[];
  readonly #meter: Meter;
  #streams = 0;

  private constructor(url: string) {
    const open = () => this.#owned.use(RedisConnection.open(url, "bench")).client;
    this.#meter = new Meter(open(), LANES);
    this.#lanes = Array.from({ length: LANES }, (_, nth) => {
      const { prefix } = this.#keys;
      const server = open();
      const queue = new Queue("calls", { connection: server, prefix });
      const worker = new Worker("calls", null, { connection: open(), prefix, autorun: false, lockDuration: LOCK_MS });
      this.#owned.defer(() => queue.close());
      this.#owned.defer(() => worker.close());
      return { server, reader: open(), queue, worker, token: `machine-${nth}` };
    });
  }

  static async open(url: string): Promise<FleetBench> {
    const bench = new FleetBench(url);
    for (const { queue, worker } of bench.#lanes) await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
    if (SMALLEST !== undefined) await bench.carry(SMALLEST, WARM_UPS);
    await bench.#meter.calibrate();
    return bench;
  }

  #lane(nth: number): Lane {
    const lane = this.#lanes[nth];
    if (lane === undefined) throw new RangeError(`there is no lane ${nth}`);
    return lane;
  }

  /** A load's way there and back: added, taken, its lock renewed, ended; and the same bytes as mail. */
  async carry({ calls, bytesPerCall }: Load, timesOfSmall: number): Promise<readonly Found[]> {
    const text = "x".repeat(bytesPerCall - FRAME_BYTES);
    const data = { calls: Array.from({ length: calls }, (_, nth) => ({ id: `${1_000 + nth}`, text })) };
    const kb = JSON.stringify(data).length / KB;
    const times = Math.ceil(timesOfSmall * (kb > LARGE_KB ? LARGE_SHARE : 1));
    const load = `${calls === 1 ? "1 call" : `${calls} calls`} of ${bytesPerCall < KB ? `${bytesPerCall} B` : `${bytesPerCall / KB} KB`}`;
    const jobs: Job[] = [];
    const add = await this.#meter.measure(times, ["evalsha"], (nth, lane) => {
      const priority = 1 + Math.floor(((nth * GOLDEN) % 1) * (PRIORITY_MAX - 1));
      const opts = { priority, removeOnComplete: true, removeOnFail: true };
      return this.#lane(lane).queue.addBulk([{ name: "calls", data, opts }]);
    });
    const take = await this.#meter.measure(times, ["evalsha"], async (_nth, lane) => {
      const { worker, token } = this.#lane(lane);
      const job = await worker.getNextJob(token, { block: false });
      if (job === undefined) throw new Error("a job that was added is not there");
      jobs.push(job);
    });
    const renew = await this.#meter.measure(times, ["evalsha"], (nth) => renewLock(jobs[nth]));
    const finish = await this.#meter.measure(times, ["evalsha"], (nth) => finishJob(jobs[nth]));
    const mail = await this.#sendMail(JSON.stringify(data), times);
    return [
      { operation: "add", load, size: kb, sample: add },
      { operation: "take", load, size: kb, sample: take },
      { operation: "renew", load, size: kb, sample: renew },
      { operation: "finish", load, size: kb, sample: finish },
      { operation: "mail", load, size: kb, sample: mail },
    ];
  }

  /** What has no load. */
  async others(times: number): Promise<readonly Found[]> {
    const found: Found[] = [];
    const note = (operation: OperationName, load: string, sample: Sample, size = 0) =>
      found.push({ operation, load, size, sample });
    for (const calls of GATE_CALLS) note("gate", `calls: ${calls}`, await this.#passGate(calls, times), calls);
    const order = orderKeys(this.#keys);
    for (const { server } of this.#lanes) await TAKEN.run(server, order, [0]);
    const noted = await this.#meter.measure(times, ["evalsha"], (nth, lane) =>
      TAKEN.run(this.#lane(lane).server, order, [nth]),
    );
    note("note", "1 job", noted);
    const nothing = await this.#meter.measure(times, ["evalsha"], async (_nth, lane) => {
      const { worker, token } = this.#lane(lane);
      if ((await worker.getNextJob(token, { block: false })) !== undefined) throw new Error("a job is left over");
    });
    note("takeNothing", "nothing", nothing);
    note("wake", "1 machine", await this.#wake(times));
    const beat = "x".repeat(200);
    const beats = await this.#meter.measure(times, ["set"], (_nth, lane) =>
      this.#lane(lane).server.set(this.#keys.of("member", `${lane}`), beat, "PX", BEAT_MS),
    );
    note("beat", "1 member of 200 B", beats);
    return found;
  }

  async #passGate(calls: number, times: number): Promise<Sample> {
    const { admit } = schedulerScripts(FLEET_TIMINGS);
    const order = orderKeys(this.#keys);
    const ask = (nth: number, { server }: Lane): Promise<unknown> => {
      const claims = Array.from({ length: calls }, (_, call) => [1, `tenant-${(nth + 7 * call) % TENANTS}`, 0, 1]);
      return admit.run(server, order, ["server", "channel", 0, ...claims.flat()]);
    };
    for (const lane of this.#lanes) await ask(0, lane);
    return this.#meter.measure(times, ["evalsha"], (nth, lane) => ask(nth, this.#lane(lane)));
  }

  /** Each lane is who sends, and who blocks until there is something. */
  #sendMail(text: string, times: number): Promise<Sample> {
    const stream = this.#streams++;
    const last = new Map<number, string>();
    return this.#meter.measure(times, ["xadd", "xread"], async (_nth, lane) => {
      const { server, reader } = this.#lane(lane);
      const key = this.#keys.of("mail", `${stream}`, `${lane}`);
      const read = reader.xread("BLOCK", LOCK_MS, "STREAMS", key, last.get(lane) ?? "0");
      await server.xadd(key, "MAXLEN", "~", STREAM_MAX, "*", "m", text);
      const id = (await read)?.[0]?.[1][0]?.[0];
      if (id === undefined) throw new Error("mail was lost");
      last.set(lane, id);
    });
  }

  /** As BullMQ wakes a machine: by the marker that adding a job sets. */
  #wake(times: number): Promise<Sample> {
    return this.#meter.measure(times, ["zadd", "bzpopmin"], async (_nth, lane) => {
      const { server, reader } = this.#lane(lane);
      const key = this.#keys.of("marker", `${lane}`);
      const woken = reader.bzpopmin(key, LOCK_MS / KB);
      await server.zadd(key, 0, "0");
      if ((await woken) === null) throw new Error("nobody was woken");
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

async function renewLock(job: Job | undefined): Promise<void> {
  if (job === undefined || (await job.extendLock(job.token ?? "", LOCK_MS)) !== 1) throw new Error("a lock was lost");
}

async function finishJob(job: Job | undefined): Promise<void> {
  if (job === undefined) throw new Error("a job was lost");
  await job.moveToCompleted(null, job.token ?? "", false);
}
