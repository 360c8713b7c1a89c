/** A fleet that goes from one version to another and back, one process after the other, while it is called. */
import { setTimeout as delay } from "node:timers/promises";
import { Callers } from "./callers.ts";
import { effectsOf } from "./measure.ts";
import { openScene, readinessOf, type Scene, type Service } from "./scene.ts";

const MACHINES = 3;
const SERVERS = 2;
const READY_MS = 60_000;
const LOOK_MS = 100;

export interface Rolling {
  /** The command of each version. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** How long a step lasts, so that both versions answer calls beside each other. */
  readonly stepMs: number;
}

export interface Rolled {
  readonly calls: number;
  /** Answers by code; `no connection` where a server had just gone, and another one was asked. */
  readonly answers: Readonly<Record<string, number>>;
  readonly lost: number;
  readonly twice: number;
}

/** Upgrades machines, then servers; then goes back, servers first. */
export async function roll({ from, to, stepMs }: Rolling): Promise<Rolled> {
  await using scene = await openScene({ machines: MACHINES, command: from });
  const servers = [scene.server];
  while (servers.length < SERVERS) servers.push(await scene.addServer(from));
  const machines = [...scene.machines];
  await Promise.all(servers.map(untilReady));
  let turn = 0;
  const callers = new Callers(() => servers[turn++ % servers.length]?.url ?? "");
  const change = async (all: Service[], start: () => Promise<Service>): Promise<void> => {
    const before = all.slice();
    for (const old of before) {
      const fresh = await start();
      // As a balancer: a server that is not ready gets no calls, and neither does one that is stopped.
      await untilReady(fresh);
      all.push(fresh);
      await delay(stepMs);
      all.splice(all.indexOf(old), 1);
      await old.end("SIGTERM");
    }
  };
  await delay(stepMs);
  await change(machines, () => scene.addMachine({}, to));
  await change(servers, () => scene.addServer(to));
  await change(servers, () => scene.addServer(from));
  await change(machines, () => scene.addMachine({}, from));
  return await report(scene, callers);
}

async function report(scene: Scene, callers: Callers): Promise<Rolled> {
  const tally = await callers.end();
  const answers = Object.fromEntries(tally.answers);
  const calls = Object.values(answers).reduce((sum, count) => sum + count, 0);
  return { calls, answers, ...effectsOf(scene, tally) };
}

async function untilReady(service: Service): Promise<void> {
  const untilMs = performance.now() + READY_MS;
  while ((await readinessOf(service)).status !== 200) {
    if (performance.now() > untilMs) throw new Error(`a process was not ready in time: ${service.lines.join("\n")}`);
    await delay(LOOK_MS);
  }
}
