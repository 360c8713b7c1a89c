/**
 * Calls innocent tools without a pause while executors are killed and hostile calls come in, and tells in a line of
 * JSON what came of it: `program.ts [--seconds N] [--seed N] [--kill-every MS] [--engine FILE] [--patient]`. The seed decides every choice, and is the first line.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Engine } from "../../src/glovebox/index.ts";
import { Dice, seedOf } from "../load/dice.ts";
import { INNOCENTS } from "../load/innocents.ts";
import { openModule } from "../load/engine.ts";
import { Ledger } from "../load/ledger.ts";
import { Load } from "../load/load.ts";
import { childrenLeft } from "../processes.ts";
import { ALWAYS, type Hostile, HOSTILES, hostileTool } from "./hostiles.ts";
import { Killer } from "./killer.ts";
import { watchBystander, watchLoop } from "./loop-delay.ts";
import type { ChaosReport } from "./report.ts";

const IN_FLIGHT = 64;
const HOSTILE_EVERY_MS = 100;
/** How long an innocent call waits at most, where it waits. */
const SLOW_MS = 100;
/** Each hostile tool has so many names. */
const COPIES = 10;
/**
 * How a patient run goes easy on a machine that has other things to do: so many innocent calls end between two kills,
 * and no more hostile ones than these are open. What must hold is the same.
 */
const ENDS_BETWEEN_KILLS = 32;
const HOSTILE_OPEN_MAX = 8;
/** A call that is not answered by then never will be: it is longer than all that a call may wait and take. */
const PATIENCE_MS = 65_000;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    "kill-every": { type: "string", default: "500" },
    engine: { type: "string", default: "src/glovebox/index.ts" },
    patient: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds);
const killEveryMs = Number(values["kill-every"]);
const seed = seedOf(values.seed);
console.log(JSON.stringify({ seed, seconds, killEveryMs }));

// Each part draws from dice of its own, so that the n-th choice of each follows from the seed alone.
const dice = new Dice(seed);
const ledger = new Ledger();
let lastId = -1;
const nextId = () => ++lastId;
const { createEngine, defineCapability } = await openModule(values.engine);
const engine = await createEngine({
  capabilities: [defineCapability(ledger.capability())],
  policy: { rules: [{ tools: ["*"], allow: { counter: true } }] },
  tools: [
    ...INNOCENTS.map(({ tool }) => tool),
    ...HOSTILES.flatMap((hostile) => Array.from({ length: COPIES }, (_, copy) => hostileTool(hostile, copy))),
  ],
});
const load = new Load(engine, ledger, dice.fork(), SLOW_MS, nextId);
const killer = new Killer(dice.fork());
const restarts: Record<string, number> = {};
const hostileEnds: Record<string, Record<string, number>> = {};
const hostileOpen = new Map<number, string>();
let isOver = false;
let endedAtKill = 0;

ledger.watch(engine);
killer.watch(engine);
engine.on("executor:lost", ({ reason }) => {
  restarts[reason] = (restarts[reason] ?? 0) + 1;
});
console.log(JSON.stringify(await run(engine)));

async function run(under: Engine): Promise<ChaosReport> {
  const loopDelayOf = watchLoop();
  const bystanderDelayOf = watchBystander();
  const startMs = performance.now();
  const hostileDice = dice.fork();
  const callers = Array.from({ length: IN_FLIGHT }, () => callAgainAndAgain());
  const attacks: Promise<void>[] = [];
  const kills = every(killEveryMs, strike);
  const hostiles = every(HOSTILE_EVERY_MS, () => {
    if (!values.patient || hostileOpen.size < HOSTILE_OPEN_MAX) attacks.push(attack(hostileDice));
  });
  await delay(seconds * 1e3);
  isOver = true;
  await Promise.all([kills, hostiles]);
  const generatorShare = load.report().generatorMs.sum / (performance.now() - startMs);
  const loopDelayMs = loopDelayOf();
  const bystanderDelayMs = await bystanderDelayOf();
  await Promise.race([Promise.all([...callers, ...attacks]), delay(PATIENCE_MS, undefined, { ref: false })]);
  for (const each of [...load.open, ...[...hostileOpen].map(([id, tool]) => `${id} ${tool}`)]) {
    load.complain(`call ${each} was never answered`);
  }
  // The work of a call that was cancelled may go on after its answer.
  const isIdle = () => under.stats().running + under.stats().queued === 0;
  for (const byMs = performance.now() + PATIENCE_MS; !isIdle() && performance.now() < byMs;) await delay(20);
  if (!isIdle()) load.complain(`the engine still counts ${JSON.stringify(under.stats())}`);
  await under.close({ drainMs: 1_000 });
  expectOnce();
  return {
    seed,
    seconds,
    innocents: load.report(),
    hostiles: hostileEnds,
    kills: killer.kills,
    restarts,
    effects: { happened: ledger.effects, expected: load.effects },
    host: { loopDelayMs, bystanderDelayMs, generatorShare, peakRssMb: process.resourceUsage().maxRSS / 1_024 },
    childrenLeft: await childrenLeft(),
  };
}

async function callAgainAndAgain(): Promise<void> {
  while (!isOver) await load.once();
}

function strike(): void {
  const ended = load.ended;
  if (values.patient && ended - endedAtKill < ENDS_BETWEEN_KILLS) return;
  endedAtKill = ended;
  killer.strike();
}

/** At fixed times since the start, however late the last one was. */
async function every(intervalMs: number, act: () => void): Promise<void> {
  const startMs = performance.now();
  for (let tick = 1; !isOver; tick++) {
    await delay(Math.max(0, startMs + tick * intervalMs - performance.now()));
    if (!isOver) act();
  }
}

async function attack(from: Dice): Promise<void> {
  const hostile: Hostile = from.pickWeighted(HOSTILES);
  const { name } = hostileTool(hostile, from.between(0, COPIES - 1));
  const id = nextId();
  hostileOpen.set(id, name);
  const signal = hostile.abortMs === undefined ? {} : { signal: AbortSignal.timeout(hostile.abortMs) };
  const { error } = await engine.execute({ id: String(id), name, arguments: {} }, signal);
  hostileOpen.delete(id);
  const end = error?.code ?? "ok";
  const ends = (hostileEnds[hostile.name] ??= {});
  ends[end] = (ends[end] ?? 0) + 1;
  if ([...hostile.ends, ...ALWAYS].every((each) => each !== end)) {
    load.complain(`hostile call ${id} of "${name}" ended with ${end}: ${error?.message ?? ""}`);
  }
}

/** No call may have ended twice, and none may have had an effect after its end. */
function expectOnce(): void {
  for (let id = 0; id <= lastId; id++) {
    const ends = ledger.endsOf(id);
    if (ends !== 1) load.complain(`call ${id} was said to have ended ${ends} times`);
  }
  if (ledger.effects !== load.effects) {
    load.complain(`${ledger.effects} effects happened, and ${load.effects} were asked for`);
  }
}
