/** Measures a fault: callers, log, metrics and readiness before it, while it lasts, and after it. */
import { setTimeout as delay } from "node:timers/promises";
import { ask, Callers, type Tally } from "./callers.ts";
import type { Fault, Outcome, RunningFault, Sees } from "./fault.ts";
import { textOf } from "./line.ts";
import { openScene, type Readiness, readinessOf, type Scene, scrapeOf } from "./scene.ts";
import { startUnder } from "./start.ts";

const CALM_MS = 1_500;
const LASTS_MS = 1_500;
/** How long what is expected is waited for; the machine may be busy with other things. */
const SEES_MS = 60_000;
const LOOK_MS = 100;
const RECOVER_MS = 60_000;
const LOG_CHARS = 300;

/** Brings a fault about, and answers what it came to. */
export async function measure(fault: Fault): Promise<Outcome> {
  return fault.place === "start" ? startUnder(fault) : measureRunning(fault);
}

async function measureRunning({ name, place, what, settings, bring, sees }: RunningFault): Promise<Outcome> {
  await using scene = await openScene(settings);
  if (!(await untilWell(scene, null))) throw new Error(`${name}: the scene was not well before the fault`);
  const before = await readinessOf(scene.server);
  const callers = new Callers(() => scene.server.url);
  await delay(CALM_MS);
  const eyes = new Eyes(scene, callers, sees);
  const heal = await bring(scene, callers);
  let atMs = performance.now();
  const watching = eyes.watch();
  if (heal !== null) {
    await watching;
    atMs = performance.now();
    await heal();
  }
  const isWell = await untilWell(scene, before);
  const recoveryMs = performance.now() - atMs;
  await watching;
  await delay(CALM_MS);
  const tally = await callers.end();
  const after = await readinessOf(scene.server);
  const { lost, twice } = effectsOf(scene, tally);
  return {
    name,
    place,
    what,
    answers: eyes.answersOf(tally),
    log: shorten(eyes.log, scene),
    metric: eyes.metric,
    ready: {
      before: shorten(wordsOf(before), scene),
      during: shorten(wordsOf(eyes.worst), scene),
      after: shorten(wordsOf(after), scene),
    },
    recoveryMs: Math.round(recoveryMs),
    lost,
    twice,
    missing: [...eyes.missing(), ...(isWell ? [] : ["it did not recover"])],
  };
}

/** Calls without an answer or without the effect that they were told of; effects that happened more than once. */
export function effectsOf(
  { counter }: Scene,
  { done, unanswered }: Tally,
): { readonly lost: number; readonly twice: number } {
  const untold = done.filter((key) => !counter.told.has(key));
  const twice = [...counter.told].filter(([key, times]) => key.startsWith("call-") && times > 1);
  return { lost: unanswered.length + untold.length, twice: twice.length };
}

/** Waits until probes are as they were, and calls of both kinds end well. */
export async function untilWell(scene: Scene, before: Readiness | null): Promise<boolean> {
  const untilMs = performance.now() + RECOVER_MS;
  for (let at = 0; performance.now() < untilMs; at++) {
    const { status, body } = await readinessOf(scene.server);
    const isReady = status === 200 && (before === null || problemsIn(body) === problemsIn(before.body));
    if (isReady) {
      const key = `probe-${at}-${scene.server.pid}`;
      const calls = [
        ask(scene.server.url, { name: "add", key: null, args: { a: at, b: 1 } }),
        ask(scene.server.url, { name: "tell", key, args: { key } }),
      ];
      if ((await Promise.all(calls)).every(({ code }) => code === "ok")) return true;
    }
    await delay(LOOK_MS);
  }
  return false;
}

/** Complaints in a body of `/readyz`: its parts that are there only while something is wrong. */
function problemsIn(body: string): string {
  return (withoutGroups(body).match(/"(?:problem|reason)":"[^"]*"|"needLogin":\[[^\]]*\]/g) ?? []).join(", ");
}

/** Without what a body says of the machine's control groups: that is so with and without a fault. */
function withoutGroups(body: string): string {
  return body.replace(/"cgroup":\{[^}]*\}/, "");
}

function wordsOf({ status, body }: Readiness): string {
  if (status === 0) return "no answer";
  const problem = /"(?:problem|reason)":"([^"]*)"/.exec(withoutGroups(body))?.[1];
  const state = /"status":"([^"]*)"/.exec(body)?.[1] ?? "";
  return `${status} ${state}${problem === undefined ? "" : `: ${problem}`}`;
}

/** Without what is another one in each run. */
function shorten(line: string, scene: Scene): string {
  const text = textOf(line);
  return text
    .replaceAll(`${scene.path}/`, "")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:…")
    .slice(0, LOG_CHARS);
}

/** Signs of a fault, as they are seen while it lasts. */
class Eyes {
  readonly #scene: Scene;
  readonly #callers: Callers;
  readonly #sees: Sees;
  readonly #from: number;
  readonly #before: ReadonlyMap<string, number>;
  log = "";
  metric = "";
  worst: Readiness = { status: 200, body: "" };

  constructor(scene: Scene, callers: Callers, sees: Sees) {
    this.#scene = scene;
    this.#callers = callers;
    this.#sees = sees;
    this.#from = scene.lines().length;
    this.#before = new Map(callers.answers);
  }

  /** Looks until everything expected was seen. */
  async watch(): Promise<void> {
    const fromMs = performance.now();
    const leastMs = fromMs + (this.#sees.lastsMs ?? LASTS_MS);
    const mostMs = Math.max(leastMs, fromMs + SEES_MS);
    for (;;) {
      await this.#look();
      const nowMs = performance.now();
      if ((nowMs >= leastMs && this.missing().length === 0) || nowMs >= mostMs) return;
      await delay(LOOK_MS);
    }
  }

  missing(): readonly string[] {
    const { code, log, metric, ready } = this.#sees;
    const isReady =
      ready === undefined ||
      (this.worst.status === ready.status && (ready.says === undefined || ready.says.test(this.worst.body)));
    return [
      ...(code === undefined || this.#countOf(code) > 0 ? [] : [`answers ${code}`]),
      ...(log === undefined || this.log !== "" ? [] : [`log ${log}: ${this.#newLines().join("\n")}`]),
      ...(metric === undefined || this.metric !== "" ? [] : [`metric ${metric}`]),
      ...(isReady
        ? []
        : [`readiness ${ready.status} ${ready.says ?? ""}, it was ${this.worst.status} ${this.worst.body}`]),
    ];
  }

  /** Answers from the beginning of the fault to the end of all calls. */
  answersOf({ answers }: Tally): string {
    const since = [...answers].map(([code, count]) => [code, count - (this.#before.get(code) ?? 0)] as const);
    return since
      .filter(([, count]) => count > 0)
      .map(([code, count]) => `${code} ${count}`)
      .join(" · ");
  }

  async #look(): Promise<void> {
    const { server, machines } = this.#scene;
    const { log, metric } = this.#sees;
    const lines = this.#newLines();
    this.log = (log === undefined ? lines.find(isWarning) : lines.find((line) => log.test(line))) ?? this.log;
    const seen = await readinessOf(server);
    if (badness(seen) >= badness(this.worst)) this.worst = seen;
    if (metric === undefined || this.metric !== "") return;
    for (const service of [server, ...machines]) {
      const line = (await scrapeOf(service)).split("\n").find((one) => metric.test(one));
      if (line !== undefined) return void (this.metric = line);
    }
  }

  #newLines(): readonly string[] {
    return this.#scene.lines().slice(this.#from);
  }

  #countOf(code: string): number {
    return (this.#callers.answers.get(code) ?? 0) - (this.#before.get(code) ?? 0);
  }
}

/** A busy machine says that it is so with and without a fault. */
function isWarning(line: string): boolean {
  return /^glovebox: |"level":[456]0/.test(line) && !/under pressure/.test(line);
}

/** The worse, the higher: nobody answers; not ready; ready, with a problem; ready. */
function badness({ status, body }: Readiness): number {
  if (status === 0) return 3;
  if (status !== 200) return 2;
  return problemsIn(body) === "" ? 0 : 1;
}
