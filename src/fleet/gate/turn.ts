import type { Job, Queue } from "bullmq";
import { valueIn } from "../../base/deadline.ts";
import { isObject } from "../../base/json.ts";
import { answerOf } from "../../store/redis/reply.ts";
import type { RedisConnection } from "../../store/redis/connection.ts";
import { LEVEL, LEVELS, PLACES, TAKEN } from "./scheduler-scripts.ts";
import type { FleetKeys } from "../wire/keys.ts";

const PAGE = 128;
const PASSES_MAX = 4;
const MOVE_MS = 5_000;
/** Beyond this a tag would lose its fraction; a fleet that takes a million jobs in a second comes to it after years. */
const TAG_MAX = 2 ** 46;

/** When a job is due, whatever is done to the places meanwhile. The job's data carries it. */
export interface JobTurn {
  /** In rounds of all tenants since the fleet's order began. */
  readonly tag: number;
  readonly level: number;
}

/** A turn as a job carries it, where everybody can write to it. */
export function readJobTurn(turn: unknown): JobTurn {
  const { tag, level } = isObject(turn) ? turn : {};
  return { tag: finite(tag), level: levelOf(finite(level)) };
}

function finite(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** The order's keys, as its scripts take them. */
export function orderKeys(keys: FleetKeys): readonly [string, string] {
  return [keys.of("gate", "order"), keys.of("gate", "tenants")];
}

/** A priority as the order knows it: an integer within the bounds. */
export function levelOf(priority: number): number {
  return Number.isNaN(priority) ? 0 : Math.min(LEVELS, Math.max(-LEVELS, Math.round(priority)));
}

/** When it is due among others: lower is earlier. */
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
 * Says that a machine has taken the jobs of these turns, each once, so that who comes new is placed after them. Never rejects:
 * where Redis does not hear of it the order is a little less fair, and nothing else.
 */
export async function recordTaken(
  connection: RedisConnection,
  keys: FleetKeys,
  turns: readonly JobTurn[],
): Promise<void> {
  // A job that went ahead for its priority does not move the virtual time.
  const least = turns.map(({ tag, level }) => tag - LEVEL * Math.max(level, 0)).filter((tag) => tag < TAG_MAX);
  if (least.length === 0) return;
  await answerOf(connection, (client) => TAKEN.run(client, orderKeys(keys), least));
}

/**
 * Gives what waits the places that it has with this base. It may be done again and by several at once, while machines take jobs and
 * servers add them; what it misses is found the next time. Never rejects. Answers how many it has moved.
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
      // Those that are due first come first; jobs that machines take meanwhile make it miss some, so it looks again.
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
  // It rejects where the job has ended meanwhile, and then has no place.
  return job.changePriority({ priority }).then(
    () => true,
    () => false,
  );
}
