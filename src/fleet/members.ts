import { within } from "../deadline.ts";
import { isObject } from "../json.ts";
import type { RedisConnection } from "../redis/connection.ts";
import type { Seal } from "../redis/seal.ts";
import type { FleetKeys } from "./keys.ts";

/** How often a member says that it is there, and how long that holds. */
const BEAT_MS = 1_000;
const SEEN_MS = 5_000;
/** What Redis may take to answer, before it is asked again later. */
const ANSWER_MS = 2_000;
const LEFT_MS = 60_000;
const MACHINES_MAX = 10_000;
const INFO_MAX = 64 * 1024;

/** What a machine says of itself. */
export interface MachineInfo {
  readonly id: string;
  /** The versions of the protocol that it understands. */
  readonly protocols: readonly number[];
  readonly slots: number;
  readonly busySlots: number;
  readonly isReady: boolean;
  readonly isDraining: boolean;
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  readonly starts: { readonly [kind: string]: number };
  readonly heapBytes: { readonly [tool: string]: number };
  readonly rssBytes: number;
  readonly quarantined: readonly string[];
  readonly isSandboxed: boolean;
}

export interface MemberOptions {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly seal: Seal;
}

/** Says every second that a member of the fleet is there, and what there is to know of it. */
export class Presence {
  readonly #options: MemberOptions;
  readonly #kind: "server" | "machine";
  readonly #id: string;
  readonly #info: () => string;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemberOptions, kind: "server" | "machine", id: string, info: () => string) {
    this.#options = options;
    this.#kind = kind;
    this.#id = id;
    this.#info = info;
  }

  /** Resolves when the fleet knows it, or Redis has not answered for a while. */
  start(): Promise<void> {
    this.#timer = setInterval(() => void this.say(), BEAT_MS);
    return this.say();
  }

  /** Says it now, because something has changed. */
  async say(): Promise<void> {
    const { connection, keys, seal } = this.#options;
    if (!connection.isReady) return;
    const key = keys.of(this.#kind, this.#id);
    const pipeline = connection.client.pipeline().set(key, seal.close(this.#info(), key), "PX", SEEN_MS);
    if (this.#kind === "machine") {
      const list = keys.of("machines");
      const nowMs = Date.now();
      pipeline
        .zadd(list, nowMs, this.#id)
        .zremrangebyscore(list, 0, nowMs - LEFT_MS)
        .pexpire(list, LEFT_MS);
    }
    await within(
      ANSWER_MS,
      pipeline.exec().catch(() => undefined),
    );
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const { connection, keys } = this.#options;
    if (!connection.isReady) return;
    const pipeline = connection.client.pipeline().del(keys.of(this.#kind, this.#id));
    if (this.#kind === "machine") pipeline.zrem(keys.of("machines"), this.#id);
    await within(
      ANSWER_MS,
      pipeline.exec().catch(() => undefined),
    );
  }
}

/** The machines that are there now, by their ids; `null` where Redis does not say. */
export async function readMachines(options: MemberOptions): Promise<ReadonlyMap<string, MachineInfo> | null> {
  const { connection, keys, seal } = options;
  if (!connection.isReady) return null;
  return answerOf(async () => {
    const ids = await connection.client.zrange(keys.of("machines"), 0, `${MACHINES_MAX - 1}`);
    const machines = new Map<string, MachineInfo>();
    if (ids.length === 0) return machines;
    const names = ids.map((id) => keys.of("machine", id));
    const said = await connection.client.mget(...names);
    for (const [at, text] of said.entries()) {
      const info = text === null ? null : readInfo(text, names[at] ?? "", seal);
      if (info !== null) machines.set(info.id, info);
    }
    return machines;
  });
}

/** Which of these servers are there; `null` where Redis does not say. */
export async function readServers(options: MemberOptions, ids: readonly string[]): Promise<ReadonlySet<string> | null> {
  const { connection, keys } = options;
  if (!connection.isReady) return null;
  if (ids.length === 0) return new Set();
  return answerOf(async () => {
    const said = await connection.client.mget(...ids.map((id) => keys.of("server", id)));
    return new Set(ids.filter((_id, at) => said[at] !== null));
  });
}

async function answerOf<T>(ask: () => Promise<T>): Promise<T | null> {
  let answer: T | null = null;
  const asking = ask().then(
    (said) => void (answer = said),
    () => undefined,
  );
  await within(ANSWER_MS, asking);
  return answer;
}

/** What was sealed with another secret, or is too long, is of no machine of ours. */
function readInfo(text: string, key: string, seal: Seal): MachineInfo | null {
  if (text.length > INFO_MAX) return null;
  try {
    const info: unknown = JSON.parse(seal.open(text, key));
    if (!isObject(info) || typeof info["id"] !== "string" || !Array.isArray(info["protocols"])) return null;
    if (!Number.isSafeInteger(info["slots"]) || !Number.isSafeInteger(info["busySlots"])) return null;
    return info as unknown as MachineInfo;
  } catch {
    return null;
  }
}
