import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { processesWith } from "../../processes.ts";
import { settled, type Stage, wordsOf } from "../stage.ts";
import type { Scene } from "./scene.ts";

const HAZARDS = fileURLToPath(new URL("../../../fixtures/binaries/native/hazards.elf", import.meta.url));
/** Enough time for the others to use up their processor time on a busy machine. */
const LIMITS = { cpuMs: 500, wallMs: 60_000, memoryMb: 32 };
const SLEEP_MS = 2_000;
/** A tenth of a second each. */
const TRIES = 600;

/** What somebody who looks around must not be able to do, by the names that the fixture has for it. */
const OUT_OF_REACH =
  "passwd root shell var sys other itself device setting network packets ptrace setuid setid mount unshare fork memfd common growing stack zero semaphores loopback limits".split(
    " ",
  );

/** Calls a binary that does what it is told to, and notes as harm another end than one of these. */
async function play(stage: Stage, harm: string[], act: string, ends: readonly string[]): Promise<unknown> {
  const name = `binary-${randomUUID()}`;
  const { engine } = stage;
  const limits = act === "sleep" ? { ...LIMITS, wallMs: SLEEP_MS } : LIMITS;
  await engine.register({ name, description: "attacks", runtime: "native", entry: HAZARDS, limits });
  const result = await settled(engine.execute({ name, arguments: { act } }));
  const end = result?.success === true ? "ok" : result?.error?.code;
  if (end === undefined || !ends.includes(end)) harm.push(`${act}: ${wordsOf(result)}`);
  // A call that is over is answered before its processes are gone.
  let left = await processesWith(`"tool_id":"${name}"`);
  for (let tries = 0; left > 0 && tries < TRIES; tries++) {
    await delay(100);
    left = await processesWith(`"tool_id":"${name}"`);
  }
  if (left > 0) harm.push(`${act}: ${left} processes are left`);
  await engine.unregister(name);
  return result?.output;
}

const scene = (name: string, act: string, ...ends: readonly string[]): Scene => ({
  name,
  act: async (stage, harm) => void (await play(stage, harm, act, ends)),
});

export const SCENES: readonly Scene[] = [
  {
    name: "a binary that looks for files, networks, rights and other processes",
    act: async (stage, harm) => {
      const seen = Object((await play(stage, harm, "look", ["ok"])) ?? {}) as Record<string, unknown>;
      for (const thing of OUT_OF_REACH) if (!(Number(seen[thing]) > 0)) harm.push(`${thing}: ${String(seen[thing])}`);
      // Its own, and the one that the sandbox begins with.
      if (seen["processes"] !== 2) harm.push(`it sees ${String(seen["processes"])} processes`);
    },
  },
  {
    name: "a binary that forks without end",
    act: async (stage, harm) => {
      const answer = JSON.stringify(await play(stage, harm, "forks", ["ok"]));
      if (answer !== '{"made":0}') harm.push(`it made processes: ${answer}`);
    },
  },
  scene("a binary that starts threads without end", "threads", "tool_error"),
  scene("a binary that takes memory without end", "memory", "memory_limit"),
  scene("a binary that makes files without end", "files", "tool_error"),
  scene("a binary that writes to its stdout without end", "flood", "tool_error", "cpu_limit"),
  scene("a binary that loops and listens to no signal", "stubborn", "cpu_limit"),
  scene("a binary that sleeps for longer than its call has", "sleep", "wall_limit"),
  scene("a binary that leaves a link where its answer was to be", "link", "tool_error"),
  {
    name: "a binary that fills its folder",
    act: async (stage, harm) => {
      const { length } = Object((await play(stage, harm, "file", ["ok"])) ?? {}) as { length?: number };
      if (length === undefined || length > 64 * 1024 * 1024) harm.push(`its file has ${length} bytes`);
    },
  },
];
