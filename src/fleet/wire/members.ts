import { answerOf } from "../redis/reply.ts";
import type { RedisConnection } from "../redis/connection.ts";
import type { Seal } from "../../kernel/store/seal.ts";
import type { FleetKeys } from "./keys.ts";
import { isMember, type Fields, isCount, isText, isTime, readText } from "./fields.ts";
import type { MachineInfo } from "./messages.ts";
import type { FleetTimings } from "./fleet-timings.ts";
import { isLine, isObject } from "../../kernel/base/json.ts";

const LEFT_MS = 60_000;
/** How far a heartbeat may be ahead of Redis's clock, in milliseconds: after a failover, the clock is another one. */
const AHEAD_MS = 3_600_000;
const MEMBERS_MAX = 10_000;
const INFO_MAX_BYTES = 64 * 1024;
/** Number of heartbeats read at once. */
const PAGE = 256;

/**
 * KEYS: a list of members. ARGV: a member. The time is Redis's: a member whose own clock is wrong would remove all others
 * from the list, or be removed by them.
 */
const LIST_MEMBER = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ${LEFT_MS})
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + ${AHEAD_MS}, '+inf')
redis.call('PEXPIRE', KEYS[1], ${LEFT_MS})
`;

export type MemberKind = "server" | "machine";

export interface MemberOptions extends MemberAccess {
  readonly timings: FleetTimings;
}

/** Access for reading heartbeats. */
export interface MemberAccess {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly seal: Seal;
}

/** Writes a member's heartbeat with its description at every `beatMs`. */
export class Heartbeat {
  readonly #options: MemberOptions;
  readonly #kind: MemberKind;
  readonly #id: string;
  readonly #info: () => string;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemberOptions, kind: MemberKind, id: string, info: () => string) {
    this.#options = options;
    this.#kind = kind;
    this.#id = id;
    this.#info = info;
  }

  /** Resolves when the first heartbeat is written, or Redis has not replied for a while. */
  start(): Promise<void> {
    this.#timer = setInterval(() => void this.beat(), this.#options.timings.beatMs);
    return this.beat();
  }

  /** Writes a heartbeat now; called after a change. */
  async beat(): Promise<void> {
    const { connection, keys, seal, timings } = this.#options;
    const key = keys.of(this.#kind, this.#id);
    const list = keys.of(`${this.#kind}s`);
    const replies = await answerOf(connection, (client) =>
      client
        .pipeline()
        .set(key, seal.close(this.#info(), key), "PX", Math.ceil(timings.seenMs))
        .eval(LIST_MEMBER, 1, list, this.#id)
        .exec(),
    );
    if (replies?.[0]?.[1] === "OK") connection.noteWritten();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { connection, keys } = this.#options;
    const list = keys.of(`${this.#kind}s`);
    await answerOf(connection, (client) =>
      client.pipeline().del(keys.of(this.#kind, this.#id)).zrem(list, this.#id).exec(),
    );
  }
}

/** The machines with a heartbeat, and the number of unreadable heartbeats (another secret, or invalid). */
export interface MachineHeartbeats {
  readonly machines: ReadonlyMap<string, MachineInfo>;
  readonly unreadable: number;
}

/** The machines with a heartbeat, by id; `null` if Redis does not reply. */
export async function readMachines(options: MemberAccess): Promise<MachineHeartbeats | null> {
  return answerOrNull(options, async () => {
    const machines = new Map<string, MachineInfo>();
    const ids = await memberIds(options, "machine");
    let unreadable = 0;
    await readHeartbeats(options, "machine", ids, (id, text) => {
      const info = text === null ? null : readInfo(text, id);
      if (info === null) unreadable++;
      else machines.set(id, info);
    });
    return { machines, unreadable };
  });
}

/** Those of these servers that have a heartbeat; `null` if Redis does not reply. */
export async function readServers(options: MemberAccess, ids: readonly string[]): Promise<ReadonlySet<string> | null> {
  return answerOrNull(options, async () => {
    const there = new Set<string>();
    await readHeartbeats(options, "server", ids, (id, text) => {
      if (text !== null) there.add(id);
    });
    return there;
  });
}

/** Numbers of servers with a readable heartbeat, and with an unreadable one. */
export interface ServerCounts {
  readonly own: number;
  readonly foreign: number;
}

/** `null` if Redis does not reply. */
export async function countServers(options: MemberAccess): Promise<ServerCounts | null> {
  return answerOrNull(options, async () => {
    let [own, foreign] = [0, 0];
    await readHeartbeats(options, "server", await memberIds(options, "server"), (_id, text) => {
      if (text === null) foreign++;
      else own++;
    });
    return { own, foreign };
  });
}

/** Describes unreadable heartbeats, for an operator. */
export function describeForeign(count: number, kind: MemberKind): string {
  const [they, we] = kind === "server" ? ["servers", "machine"] : ["worker machines", "server"];
  return (
    `${count} ${they} cannot be read: they were given another secret than this ${we}, or none; ` +
    "give all of them the same GLOVEBOX_FLEET_SECRET (executor.secret)"
  );
}

/** Ids of the members with the most recent heartbeats. */
async function memberIds({ connection, keys }: MemberAccess, kind: MemberKind): Promise<readonly string[]> {
  const ids = await connection.client.zrange(keys.of(`${kind}s`), 0, `${MEMBERS_MAX - 1}`, "REV");
  return ids.filter(isMember);
}

/** Reads the heartbeats of members; emits `null` as the text of an unreadable one. */
async function readHeartbeats(
  { connection, keys, seal }: MemberAccess,
  kind: MemberKind,
  ids: readonly string[],
  emit: (id: string, text: string | null) => void,
): Promise<void> {
  for (let at = 0; at < ids.length; at += PAGE) {
    const page = ids.slice(at, at + PAGE);
    const pipeline = connection.client.pipeline();
    // One byte beyond the maximum reveals an oversized heartbeat.
    for (const id of page) pipeline.getrange(keys.of(kind, id), 0, INFO_MAX_BYTES);
    const answers = (await pipeline.exec()) ?? [];
    for (const [index, id] of page.entries()) {
      const sealed = answers[index]?.[1];
      if (typeof sealed === "string" && sealed !== "") emit(id, opened(sealed, keys.of(kind, id), seal));
    }
  }
}

function opened(sealed: string, key: string, seal: Seal): string | null {
  if (sealed.length > INFO_MAX_BYTES) return null;
  try {
    return seal.open(sealed, key);
  } catch {
    return null;
  }
}

async function answerOrNull<T>({ connection }: MemberAccess, read: () => Promise<T>): Promise<T | null> {
  return (await answerOf(connection, read)) ?? null;
}

const SLOTS_MAX = 100_000;
/** Maximum length of a host name in the DNS. */
const HOST_MAX = 255;

/** The content of a machine's heartbeat; `null` if it is invalid. */
export function readInfo(text: string, id: string): MachineInfo | null {
  try {
    const info = readText(text, "what a machine says of itself");
    return isObject(info) && info["id"] === id && isInfo(info) ? info : null;
  } catch {
    return null;
  }
}

function isInfo(info: Fields): info is Fields & MachineInfo {
  const { protocols, slots, busySlots, isReady, isDraining, isSandboxed } = info;
  const { isolates, starts, heapBytes, rssBytes, quarantined, host, beat } = info;
  const isSized = isSlots(slots) && isSlots(busySlots) && isTime(rssBytes);
  const areFlags = [isReady, isDraining, isSandboxed].every((flag) => typeof flag === "boolean");
  const areIsolates = isObject(isolates) && ["active", "warm", "blank"].every((state) => isCount(isolates[state]));
  const areCounted = [starts, heapBytes].every((counts) => isObject(counts) && Object.values(counts).every(isTime));
  const areLists = Array.isArray(protocols) && protocols.every(isCount) && Array.isArray(quarantined);
  const isHost = host === undefined || (isLine(host) && host.length <= HOST_MAX);
  const isSaid = isHost && (beat === undefined || isCount(beat));
  return isSaid && isSized && areFlags && areIsolates && areCounted && areLists && quarantined.every(isText);
}

function isSlots(value: unknown): value is number {
  return isCount(value) && value <= SLOTS_MAX;
}
