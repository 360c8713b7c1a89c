import { expect, test } from "vitest";
import { Scheduler } from "../../../../../src/kernel/engine/schedule/scheduler.ts";
import { Refusal } from "../../../../../src/kernel/engine/schedule/queue-entry.ts";
import { run } from "../run.ts";
import { simulate, type Subject, type World } from "./schedule-harness.ts";

/** One seed when it is given, to play a failure again; else some that never change, and one that always does. */
const given = process.env["SIMULATION_SEED"];
const seeds = given === undefined ? [1, 2, 3, Math.floor(Math.random() * 2 ** 31)] : [Number(given)];

const calm: World = {
  calls: 1_500,
  tenants: 8,
  tools: 6,
  maxQueued: 1_000,
  concurrency: 8,
  perTool: Infinity,
  perTenant: Infinity,
  arrivalMs: 5,
  serviceMs: 35,
};

const worlds: Record<string, World> = {
  "with slots to spare": calm,
  "with more calls than slots": { ...calm, arrivalMs: 3 },
  "with a short queue": { ...calm, arrivalMs: 2, maxQueued: 15 },
  "with capped tenants": { ...calm, perTenant: 2, tenants: 5 },
  "with a single slot": { ...calm, concurrency: 1, serviceMs: 6 },
  "with capped tools": { ...calm, perTool: 2 },
  "with capped tools and capped tenants": { ...calm, arrivalMs: 3, perTool: 2, perTenant: 2, tenants: 6 },
};

function realScheduler(world: World): Subject {
  const scheduler = new Scheduler({ ...world, clock: () => performance.now() });
  return { run: (request, start) => run(scheduler, request, start), stats: () => scheduler.stats() };
}

test.each(Object.keys(worlds))("a world %s is played without a breach of a rule", async (name) => {
  for (const seed of seeds) {
    const { breaches, ends } = await simulate(seed, worlds[name] ?? calm, realScheduler);
    expect(breaches, `SIMULATION_SEED=${seed} plays this again`).toEqual([]);
    expect(ends["ran"]).toBeGreaterThan(100);
  }
});

test("the worlds together see every way in which a call can end", async () => {
  const seen = new Set<string>();
  for (const world of Object.values(worlds)) {
    for (const end of Object.keys((await simulate(1, world, realScheduler)).ends)) seen.add(end);
  }
  expect([...seen].toSorted()).toEqual(["cancelled", "queue_full", "queue_timeout", "ran"]);
});

test("the same seed plays the same world", async () => {
  const busy = { ...calm, arrivalMs: 3 };
  const [first, second, other] = [
    await simulate(7, busy, realScheduler),
    await simulate(7, busy, realScheduler),
    await simulate(8, busy, realScheduler),
  ];
  expect(second).toEqual(first);
  expect(other).not.toEqual(first);
});

interface Job {
  readonly begin: () => void;
}

/** A scheduler as one writes it in ten minutes: the canary's bird. Each flaw breaks one rule. */
class BrokenScheduler implements Subject {
  readonly #world: World;
  readonly #flaw: string;
  readonly #jobs: Job[] = [];
  #running = 0;
  #count = 0;

  constructor(world: World, flaw: string) {
    this.#world = world;
    this.#flaw = flaw;
  }

  run<T>(_request: unknown, start: (queueMs: number) => Promise<T>): Promise<T | Refusal> {
    this.#count++;
    const isSpecial = this.#count % 50 === 0;
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        this.#running++;
        void start(0)
          .then(resolve, reject)
          .finally(() => {
            this.#running--;
            this.#next();
          });
        if (isSpecial && this.#flaw === "runs a call twice") void start(0);
        if (isSpecial && this.#flaw === "refuses a running call") resolve(new Refusal("queue_full", "", 0));
      };
      if (isSpecial && this.#flaw === "loses a call") return;
      this.#jobs.push({ begin });
      const isGreedy = isSpecial && this.#flaw === "takes a slot too many";
      if (isGreedy || this.#running < this.#world.concurrency) this.#next(isGreedy);
    });
  }

  stats(): ReturnType<Scheduler["stats"]> {
    const { maxQueued, concurrency } = this.#world;
    return { queued: this.#jobs.length, running: this.#running, maxQueued, concurrency };
  }

  #next(isGreedy = false): void {
    if (this.#flaw === "forgets a slot" && this.#count % 50 === 0) return;
    if (!isGreedy && this.#running >= this.#world.concurrency) return;
    const job = this.#flaw === "starts the newest first" ? this.#jobs.pop() : this.#jobs.shift();
    job?.begin();
  }
}

test.each([
  ["loses a call", "was lost"],
  ["runs a call twice", "started while it was running"],
  ["refuses a running call", "was refused after it had started"],
  ["takes a slot too many", "runs without a slot"],
  ["starts the newest first", "overtook call"],
  ["serves in order of arrival only", "before a turn of"],
  ["forgets a slot", "waits although it could run"],
])("the harness notices a scheduler that %s", async (flaw, breach) => {
  const world = { ...calm, arrivalMs: 3, calls: 600 };
  const { breaches } = await simulate(1, world, () => new BrokenScheduler(world, flaw));
  expect(breaches.some((text) => text.includes(breach))).toBe(true);
});

test.each([
  ["a capped tool", { perTool: 1 }, "exceeds the cap of its tool"],
  ["a capped tenant", { perTenant: 1 }, "exceeds the cap of its tenant"],
  ["a short queue", { maxQueued: 3 }, "calls wait at"],
])("the harness notices a scheduler that does not know of %s", async (_name, limits, breach) => {
  const world = { ...calm, arrivalMs: 3, calls: 600 };
  const ignorant = (): Subject => realScheduler(world);
  const { breaches } = await simulate(1, { ...world, ...limits }, ignorant);
  expect(breaches.some((text) => text.includes(breach))).toBe(true);
});
