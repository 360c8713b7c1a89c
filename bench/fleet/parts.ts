/** The parts of a simulated fleet: Redis with its jobs and its mail, servers, and machines. */
import { at, type Costs, type OperationName } from "./costs.ts";
import type { CallKind, Fleet } from "./mixes.ts";
import { ASK_KB, serverShare, TAKEN_KB } from "./model.ts";
import { EventLoop, Station, type Timeline } from "./timeline.ts";

const MS_PER_US = 1e-3;

export interface Call {
  readonly kind: CallKind;
  readonly server: Server;
  readonly redis: Redis;
  readonly serviceMs: number;
  readonly arrivedMs: number;
  /** Says that it has its answer. */
  readonly settle: () => void;
}

interface Job {
  readonly calls: readonly Call[];
  readonly inKb: number;
}

/** How much went together. */
export interface Tally {
  gates: number;
  jobs: number;
  shortJobs: number;
  shortCalls: number;
  messages: number;
  entries: number;
}

/** What all parts know. */
export interface World {
  readonly timeline: Timeline;
  readonly costs: Costs;
  readonly fleet: Fleet;
  readonly slots: number;
  /** A job's calls have begun to run. */
  readonly onStart: (calls: readonly Call[]) => void;
  readonly tally: Tally;
  /** So many slots more are busy, or fewer. */
  readonly onSlots: (change: number) => void;
}

/**
 * One Redis: a single thread. What a command changes, it changes when its turn in the line is known; its answer comes when
 * it was served. That is the same as changing it then, because nobody is served out of turn.
 */
export class Redis {
  readonly station: Station;
  readonly #world: World;
  readonly #jobs: Queue<Job> = new Queue();
  readonly #blocked: Queue<Machine> = new Queue();
  /** Set while there may be jobs and nobody was woken for them. */
  #hasMarker = false;

  constructor(world: World) {
    this.#world = world;
    this.station = new Station(world.timeline);
  }

  /** A command that travels here, is served, and whose answer travels back. */
  ask(operation: OperationName, size: number, answered: () => void = () => {}): void {
    this.#travel(() => this.#serve(operation, size, () => this.#travel(answered)));
  }

  addAll(jobs: readonly Job[]): void {
    this.#travel(() => {
      for (const job of jobs) {
        this.#serve("add", job.inKb);
        this.#jobs.push(job);
        this.#signal();
      }
    });
  }

  /** A machine takes the next job; where there is none, it blocks until it is woken, and tries again. */
  take(machine: Machine): void {
    this.#travel(() => {
      const job = this.#jobs.shift();
      if (job === undefined) return this.#serve("takeNothing", 0, () => this.#travel(() => this.#block(machine)));
      this.#signal();
      return this.#serve("take", job.inKb, () => this.#travel(() => machine.receive(job)));
    });
  }

  #block(machine: Machine): void {
    this.#travel(() => {
      this.#blocked.push(machine);
      if (!this.#hasMarker) return;
      this.#hasMarker = false;
      this.#signal();
    });
  }

  /** As BullMQ does: adding a job and taking one both say that there may be jobs, to one machine that blocks. */
  #signal(): void {
    const machine = this.#blocked.shift();
    if (machine === undefined) this.#hasMarker = true;
    else this.#serve("wake", 0, () => this.#travel(() => this.take(machine)));
  }

  #serve(operation: OperationName, size: number, done?: () => void): void {
    this.station.serve(at(this.#world.costs[operation].redisUs, size) * MS_PER_US, done);
  }

  #travel(arrived: () => void): void {
    this.#world.timeline.after(this.#world.fleet.networkMs, arrived);
  }
}

/** First in, first out, without moving what waits. */
class Queue<T> {
  #in: T[] = [];
  #out: T[] = [];

  push(item: T): void {
    this.#in.push(item);
  }

  shift(): T | undefined {
    if (this.#out.length === 0) {
      this.#out = this.#in.toReversed();
      this.#in = [];
    }
    return this.#out.pop();
  }
}

/** A process with an event loop and a mailbox. What it has to say to another in one turn goes as one entry. */
class Member {
  protected readonly world: World;
  readonly loop: EventLoop;
  readonly #outbox = new Map<Member, Map<Redis, { kb: number; readonly heard: (() => void)[] }>>();

  constructor(world: World) {
    this.world = world;
    this.loop = new EventLoop(world.timeline, () => this.onTurnEnd());
  }

  protected onTurnEnd(): void {
    for (const [to, entries] of this.#outbox) {
      for (const [redis, { kb, heard }] of entries) {
        const endMs = at(this.world.costs.mail.clientUs, kb) * MS_PER_US * serverShare("mail");
        this.world.tally.entries++;
        this.world.tally.messages += heard.length;
        this.loop.charge(endMs);
        redis.ask("mail", kb, () =>
          to.loop.post(endMs, () => {
            for (const hear of heard) hear();
          }),
        );
      }
    }
    this.#outbox.clear();
  }

  /** Goes out at the end of this turn. */
  send(to: Member, redis: Redis, kb: number, hear: () => void): void {
    const entries = this.#outbox.getOrInsertComputed(to, () => new Map());
    const entry = entries.getOrInsertComputed(redis, () => ({ kb: 0, heard: [] }));
    entry.kb += kb;
    entry.heard.push(hear);
  }

  /** What its side of an operation takes of its thread. */
  protected clientMs(operation: OperationName, size: number): number {
    return at(this.world.costs[operation].clientUs, size) * MS_PER_US;
  }
}

export class Server extends Member {
  readonly #ready = new Map<Redis, Call[]>();
  readonly #gates = new Map<Redis, number>();

  accept(call: Call): void {
    this.loop.post(this.world.fleet.serverCallUs * MS_PER_US, () => {
      this.#ready.getOrInsertComputed(call.redis, () => []).push(call);
    });
  }

  protected override onTurnEnd(): void {
    for (const [redis, calls] of this.#ready) {
      const open = this.#gates.get(redis) ?? 0;
      if (open >= this.world.fleet.gatesAtOnce) continue;
      this.#gates.set(redis, open + 1);
      this.#ready.delete(redis);
      const jobs = jobsOf(calls, this.world.fleet.batchMax);
      const addMs = jobs.reduce((sum, { inKb }) => sum + this.clientMs("add", inKb), 0);
      this.loop.charge(this.clientMs("gate", calls.length) + addMs);
      this.#count(jobs);
      redis.ask("gate", calls.length, () => {
        redis.addAll(jobs);
        this.#gates.set(redis, (this.#gates.get(redis) ?? 0) - 1);
        if (this.#ready.has(redis)) this.loop.post(0, () => {});
      });
    }
    super.onTurnEnd();
  }

  #count(jobs: readonly Job[]): void {
    const { tally } = this.world;
    tally.gates++;
    tally.jobs += jobs.length;
    const short = jobs.filter(({ calls }) => calls[0]?.kind.isShort ?? false);
    tally.shortJobs += short.length;
    tally.shortCalls += short.reduce((sum, { calls }) => sum + calls.length, 0);
  }
}

/** Short calls go together, the others alone. */
function jobsOf(calls: readonly Call[], batchMax: number): readonly Job[] {
  const short = calls.filter(({ kind }) => kind.isShort);
  const jobs = calls.filter(({ kind }) => !kind.isShort).map((call) => jobOf([call]));
  for (let from = 0; from < short.length; from += batchMax) jobs.push(jobOf(short.slice(from, from + batchMax)));
  return jobs;
}

function jobOf(calls: readonly Call[]): Job {
  return { calls, inKb: calls.reduce((sum, { kind }) => sum + kind.inKb, 0) };
}

export class Machine extends Member {
  readonly #redis: Redis;
  #freeSlots: number;
  #isTaking = false;

  constructor(world: World, redis: Redis) {
    super(world);
    this.#redis = redis;
    this.#freeSlots = world.slots;
  }

  /** Takes one job after the other, as long as it has a slot for one. */
  take(): void {
    if (this.#isTaking || this.#freeSlots === 0) return;
    this.#isTaking = true;
    this.#redis.take(this);
  }

  receive(job: Job): void {
    this.#isTaking = false;
    this.#freeSlots--;
    this.world.onSlots(1);
    this.loop.post(this.clientMs("take", job.inKb) + this.clientMs("note", 0), () => this.#start(job));
    this.take();
  }

  #start({ calls, inKb }: Job): void {
    const { timeline, fleet, onStart } = this.world;
    const [first] = calls;
    if (first === undefined) return;
    onStart(calls);
    this.#redis.ask("note", 0);
    this.send(first.server, this.#redis, TAKEN_KB, () => {});
    const serviceMs = calls.reduce((sum, call) => sum + call.serviceMs, 0);
    for (let ms = fleet.renewMs; ms < serviceMs; ms += fleet.renewMs)
      timeline.after(ms, () => this.#redis.ask("renew", 0));
    const asks = calls.reduce((sum, { kind }) => sum + kind.asks, 0);
    this.#serve(first.server, asks, serviceMs / (asks + 1), () => this.#end(calls, inKb));
  }

  /** A part of the service, then what it asks of its server, and so on. */
  #serve(server: Server, asks: number, partMs: number, ended: () => void): void {
    this.world.timeline.after(partMs, () => {
      if (asks === 0) return ended();
      this.loop.post(0, () => {
        this.send(server, this.#redis, ASK_KB, () =>
          server.send(this, this.#redis, ASK_KB, () => this.#serve(server, asks - 1, partMs, ended)),
        );
      });
    });
  }

  #end(calls: readonly Call[], inKb: number): void {
    this.loop.post(this.clientMs("finish", 0), () => {
      this.#freeSlots++;
      this.world.onSlots(-1);
      this.#redis.ask("finish", inKb);
      const outKb = calls.reduce((sum, { kind }) => sum + kind.outKb, 0);
      const [first] = calls;
      if (first !== undefined)
        this.send(first.server, this.#redis, outKb, () => {
          for (const call of calls) call.settle();
        });
      this.take();
    });
  }
}
