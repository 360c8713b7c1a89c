import type { Job, Queue } from "bullmq";
import { valueIn } from "../../kernel/base/deadline.ts";
import { isObject } from "../../kernel/base/json.ts";
import { answerOf } from "../redis/reply.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { LEVEL, LEVELS, PLACES, TAKEN } from "./scheduler-scripts.ts";
import type { FleetKeys } from "../wire/keys.ts";

const PAGE = 128;
const PASSES_MAX = 4;
const MOVE_MS = 5_000;
/** Tags beyond this would lose their fraction; a fleet that takes a million jobs a second reaches it after years. */
const TAG_MAX = 2 ** 46;

/** A job's due time, independent of its current place. The job's data contains it. */
export interface JobTurn {
  /** In rounds of all tenants since the order began. */
  readonly tag: number;
  readonly level: number;
}

/** Reads a turn from a job's data, which any writer to Redis can change. */
export function readJobTurn(turn: unknown): JobTurn {
  const { tag, level } = isObject(turn) ? turn : {};
  return { tag: finite(tag), level: levelOf(finite(level)) };
}

function finite(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** The order's keys, for its scripts. */
export function orderKeys(keys: FleetKeys): readonly [string, string] {
  return [keys.of("gate", "order"), keys.of("gate", "tenants")];
}

/** The level of a priority: an integer within the bounds. */
export function levelOf(priority: number): number {
  return Number.isNaN(priority) ? 0 : Math.min(LEVELS, Math.max(-LEVELS, Math.round(priority)));
}

/** The due time of a turn: lower is earlier. */
export function dueOf({ tag, level }: JobTurn): number {
  return tag - LEVEL * level;
}

/** The place of a turn in BullMQ's order, as its `priority`: lower is earlier. */
export function placeOf(turn: JobTurn, base: number): number {
  const place = 1 + Math.floor(dueOf(turn)) - base;
  if (Number.isNaN(place)) return PLACES;
  return Math.min(PLACES, Math.max(1, place));
}

/**
 * Reports the turns of taken jobs, each once, so that new tenants are placed after them. Never rejects: without the
 * report the order is only a little less fair.
 */
export async function recordTaken(
  connection: RedisConnection,
  keys: FleetKeys,
  turns: readonly JobTurn[],
): Promise<void> {
  // A job with a head start does not advance the virtual time.
  const least = turns.map(({ tag, level }) => tag - LEVEL * Math.max(level, 0)).filter((tag) => tag < TAG_MAX);
  if (least.length === 0) return;
  await answerOf(connection, (client) => TAKEN.run(client, orderKeys(keys), least));
}

/**
 * Gives waiting jobs their places for this base. Idempotent, and safe to run concurrently with itself, with machines
 * that take jobs and with servers that add them; the next run finds jobs that it misses. Never rejects. Returns the
 * number of moved jobs.
 */
export async function moveWaiting<Data>(
  queue: Queue<Data>,
  base: number,
  turnOf: (data: Data) => JobTurn | null,
): Promise<number> {
  const untilMs = performance.now() + MOVE_MS;
  let moved = 0;
  const passes = async (): Promise<void> => {
    for (let pass = 0; pass < PASSES_MAX; pass++) {
      const before = moved;
      // Jobs come in due order; those taken meanwhile shift the pages, so it makes several passes.
      for (let start = 0; performance.now() < untilMs; start += PAGE) {
        const page = await queue.getPrioritized(start, start + PAGE - 1);
        if (page.length === 0) break;
        const done = await Promise.all(page.map((job) => moveJob(job, base, turnOf)));
        moved += done.filter(Boolean).length;
      }
      if (moved === before) return;
    }
  };
  await valueIn(MOVE_MS, passes());
  return moved;
}

async function moveJob<Data>(
  job: Pick<Job<Data>, "data" | "priority" | "changePriority"> | undefined,
  base: number,
  turnOf: (data: Data) => JobTurn | null,
): Promise<boolean> {
  const turn = job === undefined ? null : turnOf(job.data);
  if (job === undefined || turn === null) return false;
  const priority = placeOf(turn, base);
  if (job.priority === priority) return false;
  // Rejects if the job has ended meanwhile and has no place.
  return job.changePriority({ priority }).then(
    () => true,
    () => false,
  );
}
