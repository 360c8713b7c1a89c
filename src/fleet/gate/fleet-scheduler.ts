import { valueIn, within } from "../../kernel/base/deadline.ts";
import type { RedisConnection } from "../redis/connection.ts";
import {
  BY_TENANT,
  BY_TOOL,
  type Cap,
  CapRegistry,
  type Caps,
  capsOf,
  type AdmissionRequest,
  type CapEntry,
} from "./caps.ts";
import { type SchedulerScripts, schedulerScripts } from "./scheduler-scripts.ts";
import type { FleetKeys } from "../wire/keys.ts";
import type { FleetTimings } from "../wire/fleet-timings.ts";
import { orderKeys, placeOf, type JobTurn, levelOf } from "./turn.ts";

/** Maximum number of requests, or leases, in one run of a script. */
const CHUNK = 256;
const REDIS_MS = 2_000;

/** A request's place in the queue. */
export interface QueuePlace {
  readonly id: string;
  /** Stored in the job's data. */
  readonly turn: JobTurn;
  /** BullMQ's priority. */
  readonly priority: number;
}

/** Admitted requests with their places, and the ids of requests held by a cap. */
export interface AdmissionResult {
  readonly places: readonly QueuePlace[];
  readonly held: readonly string[];
}

export interface FleetSchedulerOptions extends Caps {
  /** The server's id: unique, and never changed. */
  readonly server: string;
  readonly timings: FleetTimings;
  /** Held requests may have room: hand them in again, before new ones. */
  readonly onRoom: () => void;
  /** Waiting jobs need new places for this base: call `moveWaiting`. */
  readonly onMove: (base: number) => void;
}

/**
 * The order in which the calls of all servers reach machines, and the caps on all of them together.
 *
 * The order is start-time fair queueing: a tenant's jobs get tags one round apart, beginning at the virtual time, which
 * follows the jobs that machines take. So a tenant with many jobs waits for its own jobs, and one with few is next. A
 * level of priority is a head start of a bounded number of rounds.
 *
 * A cap is a set of leases, which expire unless their server renews them. Held requests are admitted in the order of
 * their ages, and a newer request of another server cannot take their room. Waiting servers are notified of room, as
 * many as it suffices for; they also retry every second.
 */
export class FleetScheduler implements AsyncDisposable {
  readonly #connection: RedisConnection;
  readonly #listener: RedisConnection | null;
  readonly #keys: FleetKeys;
  readonly #options: FleetSchedulerOptions;
  readonly #channel: string;
  readonly #caps: CapRegistry;
  readonly #scripts: SchedulerScripts;
  /** Leases to end, by cap. Also contains held requests, which have no leases: for these only the waiters change. */
  #ending = new Map<Cap, string[]>();
  #isEnding = false;
  #isRenewing = false;
  /** Number of requests to Redis that timed out and have no reply yet. */
  #late = 0;
  #isEmitting = false;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined = undefined;

  constructor(connection: RedisConnection, keys: FleetKeys, options: FleetSchedulerOptions) {
    this.#connection = connection;
    this.#keys = keys;
    this.#options = options;
    this.#channel = keys.of("gate", "room", "");
    this.#caps = new CapRegistry(keys, options);
    this.#scripts = schedulerScripts(options.timings);
    this.#listener = options.perTenant === Infinity && options.perTool === Infinity ? null : this.#listen();
  }

  /**
   * Requests places. Never rejects: while Redis does not reply, all requests are held. On `onRoom`, submit held
   * requests again in the wanted order; `release` the unwanted ones. Do not submit an admitted request again.
   */
  async admit(requests: readonly AdmissionRequest[]): Promise<AdmissionResult> {
    const entries = requests.map((request) => this.#caps.enter(request));
    if (!this.#connection.isReady || this.#late > 0 || this.#isClosed) return this.#holdAll(entries);
    // Leases that ended in this tick make room for its requests.
    void this.#sendEnded();
    const held: string[] = [];
    const asked: CapEntry[] = [];
    for (const entry of entries)
      if (this.#caps.try(entry)) asked.push(entry);
      else held.push(entry.request.id);
    const chunks: CapEntry[][] = [];
    for (let at = 0; at < asked.length; at += CHUNK) chunks.push(asked.slice(at, at + CHUNK));
    const answers = await Promise.all(chunks.map((chunk) => this.#request(chunk)));
    this.#retryLater();
    return {
      places: answers.flatMap((answer) => answer.places),
      held: [...held, ...answers.flatMap((answer) => answer.held)],
    };
  }

  /** Releases requests that have ended or are no longer wanted. Sent at the end of the tick. */
  release(ids: readonly string[]): void {
    for (const id of ids) {
      const entry = this.#caps.remove(id);
      if (entry !== undefined) this.#endLeases(entry);
    }
  }

  /**
   * Renews the leases; call it every few seconds. Also finds out whether waiting jobs have to be moved. Never rejects.
   */
  async renew(): Promise<void> {
    if (this.#isRenewing || !this.#connection.isReady) return;
    this.#isRenewing = true;
    const leases = [...this.#caps.caps()].flatMap((cap) => [...cap.leased].map((id) => ({ cap, id })));
    const runs: Promise<unknown>[] = [];
    for (let at = 0; at === 0 || at < leases.length; at += CHUNK) {
      const byCap = Map.groupBy(leases.slice(at, at + CHUNK), ({ cap }) => cap);
      const args = [...byCap.values()].flatMap((group) => [group.length, ...group.map(({ id }) => id)]);
      const keys = [...orderKeys(this.#keys), ...[...byCap.keys()].map((cap) => cap.leases)];
      runs.push(this.#scripts.renew.run(this.#connection.client, keys, [this.#options.server, ...args]));
    }
    const renewed = Promise.allSettled(runs).then((results) => {
      this.#isRenewing = false;
      for (const result of results)
        if (result.status === "fulfilled" && typeof result.value === "string")
          this.#options.onMove(Number(result.value));
    });
    await within(REDIS_MS, renewed);
  }

  /** Returns all leases. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.release(this.#caps.ids);
    if (this.#connection.isReady) await within(REDIS_MS, this.#sendEnded());
    await this.#listener?.close();
  }

  #listen(): RedisConnection {
    const listener = this.#connection.another("gate");
    listener.subscribe(this.#channel + this.#options.server, (message) => this.#onRoomMessage(message));
    return listener;
  }

  /** Handles `free:leases`: the amount of room at the cap with that key. */
  #onRoomMessage(message: string): void {
    const colon = message.indexOf(":");
    const cap = this.#caps.capOf(message.slice(colon + 1));
    const free = Number(message.slice(0, colon));
    if (cap === undefined || cap.held.size === 0 || !Number.isSafeInteger(free)) return;
    cap.tries = Math.max(cap.tries, free);
    this.#emitRoom();
  }

  #emitRoom(): void {
    if (this.#isEmitting) return;
    this.#isEmitting = true;
    setImmediate(() => {
      this.#isEmitting = false;
      if (!this.#isClosed) this.#options.onRoom();
    });
  }

  /** Retries at intervals: a message may be lost, and a lost server's leases and turns end without one. */
  #retryLater(): void {
    if (this.#retry !== undefined || this.#caps.held === 0 || this.#isClosed) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      if (this.#caps.held === 0) return;
      for (const cap of this.#caps.caps()) cap.tries = Infinity;
      this.#emitRoom();
      this.#retryLater();
    }, this.#options.timings.retryMs).unref();
  }

  #holdAll(entries: readonly CapEntry[]): AdmissionResult {
    for (const entry of entries) this.#caps.hold(entry, 0, null);
    this.#retryLater();
    return { places: [], held: entries.map(({ request }) => request.id) };
  }

  async #request(entries: readonly CapEntry[]): Promise<AdmissionResult> {
    const terms = { keys: this.#keys, server: this.#options.server, channel: this.#channel };
    const { groups, keys, args } = admitArguments(entries, terms);
    const asking = this.#scripts.admit.run(this.#connection.client, keys, args).catch(() => null);
    const answer = await valueIn(REDIS_MS, asking);
    if (answer === undefined) void this.#undoLate(groups, asking);
    if (!Array.isArray(answer)) return this.#holdAll(entries.filter((entry) => this.#caps.has(entry)));
    return this.#read(groups, answer);
  }

  #read(groups: readonly AdmissionGroup[], answer: readonly unknown[]): AdmissionResult {
    const [baseText, isMover, nowText, ...results] = answer;
    const base = Number(baseText);
    const places: QueuePlace[] = [];
    const held: string[] = [];
    for (const [index, { level, cost, entries }] of groups.entries()) {
      const result = results[index];
      const isAdmitted = typeof result === "string";
      for (const [nth, entry] of entries.entries()) {
        const { id } = entry.request;
        if (!this.#caps.has(entry)) {
          if (isAdmitted) this.#endLeases(entry);
        } else if (isAdmitted) {
          this.#caps.lease(entry);
          const turn = { tag: Number(result) + nth * cost, level };
          places.push({ id, turn, priority: placeOf(turn, base) });
        } else {
          this.#refuse(entry, Number(result), Number(nowText));
          held.push(id);
        }
      }
    }
    if (isMover === 1) this.#options.onMove(base);
    return { places, held };
  }

  /** A refused request counts as untried at a cap that did not hold it: that cap has room for another. */
  #refuse(entry: CapEntry, by: number, nowUs: number): void {
    for (const [bit, cap] of [
      [BY_TENANT, entry.ofTenant],
      [BY_TOOL, entry.ofTool],
    ] as const) {
      if (cap === null) continue;
      if ((by & bit) !== 0) cap.tries = 0;
      else if (cap.tries !== Infinity) {
        cap.tries++;
        this.#emitRoom();
      }
    }
    this.#caps.hold(entry, by, nowUs);
  }

  /** Ends the leases of a request that timed out. Until then no other request is sent. */
  async #undoLate(groups: readonly AdmissionGroup[], asking: Promise<unknown>): Promise<void> {
    this.#late++;
    const answer = await asking;
    const results = Array.isArray(answer) ? answer.slice(3) : [];
    const admitted = groups.filter((_group, index) => typeof results[index] === "string");
    for (const entry of admitted.flatMap(({ entries }) => entries)) this.#endLeases(entry);
    await this.#sendEnded();
    this.#late--;
    this.#emitRoom();
  }

  #endLeases(entry: CapEntry): void {
    for (const cap of capsOf(entry)) {
      const ids = this.#ending.get(cap) ?? [];
      ids.push(entry.request.id);
      this.#ending.set(cap, ids);
    }
    if (this.#isEnding || this.#ending.size === 0) return;
    this.#isEnding = true;
    setImmediate(() => void this.#sendEnded());
  }

  /** Sends releases one after the other, so that at most one waits for Redis. Leases that cannot be released expire. */
  async #sendEnded(): Promise<void> {
    while (this.#ending.size > 0) {
      const ending = [...this.#ending];
      this.#ending = new Map();
      const args: (string | number)[] = [this.#options.server, this.#channel];
      for (const [cap, ids] of ending) args.push(cap.limit, cap.waitsSince(), ids.length, ...ids);
      const keys = ending.flatMap(([cap]) => [cap.leases, cap.waits]);
      await this.#scripts.release.run(this.#connection.client, keys, args).catch(() => undefined);
    }
    this.#isEnding = false;
  }
}

/** Consecutive requests of one tenant: Redis returns only the tag of the first. */
export interface AdmissionGroup {
  readonly level: number;
  readonly cost: number;
  /** Only one entry if caps apply. */
  readonly entries: readonly CapEntry[];
}

/** Keys and arguments of the script `ADMIT`. */
export interface AdmitArguments {
  readonly groups: readonly AdmissionGroup[];
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

function admitArguments(
  entries: readonly CapEntry[],
  terms: { readonly keys: FleetKeys; readonly server: string; readonly channel: string },
): AdmitArguments {
  const asked = new Set(entries);
  const caps = [...new Set(entries.flatMap(capsOf))];
  const numbers = new Map<Cap | null, number>(caps.map((cap, index) => [cap, index + 1]));
  const groups = groupsOf(entries, caps.length === 0);
  const args: (string | number)[] = [terms.server, terms.channel, caps.length];
  for (const cap of caps) args.push(cap.limit, cap.waitsSince(asked));
  for (const { level, cost, entries: members } of groups) {
    const [first] = members;
    if (first === undefined) continue;
    args.push(caps.length === 0 ? members.length : first.request.id, first.tenant, level, cost);
    if (caps.length === 0) continue;
    const { ofTenant, ofTool, sinceUs, heldBy } = first;
    args.push(numbers.get(ofTenant) ?? 0, numbers.get(ofTool) ?? 0, sinceUs ?? "", heldBy);
  }
  const keys = [...orderKeys(terms.keys), ...caps.flatMap((cap) => [cap.leases, cap.waits])];
  return { groups, keys, args };
}

/** Groups requests; a tenant's requests stay in order. */
function groupsOf(entries: readonly CapEntry[], mayJoin: boolean): readonly AdmissionGroup[] {
  const groups: (AdmissionGroup & { readonly entries: CapEntry[] })[] = [];
  const last = new Map<string, AdmissionGroup & { readonly entries: CapEntry[] }>();
  for (const entry of entries) {
    const { cost } = entry.request;
    const level = levelOf(entry.request.priority);
    const open = last.get(entry.tenant);
    if (mayJoin && open?.cost === cost && open.level === level) {
      open.entries.push(entry);
      continue;
    }
    const group = { level, cost, entries: [entry] };
    groups.push(group);
    last.set(entry.tenant, group);
  }
  return groups;
}
