import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { count, countWithin } from "../base/limits.ts";
import { PAUSE_MAX_MS } from "../broker/capabilities/pause.ts";
import { resolveSecret } from "../store/seal.ts";
import { IN_MEMORY } from "../store/sqlite/layout.ts";
import { type Keep, KEEPS } from "../store/calls/call-record.ts";
import type { CallRoom } from "../store/calls/call-tables.ts";
import { DEFAULT_DURABLE, type DurableCapacity } from "../store/calls/durable/durable-call.ts";
import { type CallStoreFactory, type PluginStore, pluginStore } from "../store/store-factory.ts";
import { checkNotify, type NotifyTarget } from "./durable/notify-options.ts";
import type { RedactValue } from "./call/redact-detail.ts";

/** Kept parts of ended calls, and their store. */
export interface CallOptions {
  /**
   * Path of a file that is created on first use and may be shared by engines of one machine; `:memory:` for none. It has
   * values in plain text unless there is a `secret`. Default `calls.sqlite` in `stateDir`.
   */
  readonly path?: string;
  /**
   * URL of a Redis instead of a file, for engines on several machines, each of which then finds the calls of all:
   * `redis://`, `rediss://`, `redis+sentinel://` or `redis+cluster://`. Needs a secret.
   */
  readonly url?: string;
  /** Name of the fleet: engines with the same name and Redis share calls. Default `default`. */
  readonly fleet?: string;
  /**
   * Secret that seals the calls in the file, or in Redis: 16 to 4,096 characters, the same for all engines that share
   * it. Redis needs one. A file is sealed from its creation: one with plain calls is not opened with a secret, and a
   * sealed one not without it, or with another. Default none.
   */
  readonly secret?: string;
  /**
   * `summaries`: ids, tool, tenant, times and outcome of each call. `failures`: also arguments, output, error and log lines
   * of calls that failed. `everything`: of all calls. `nothing`: as without the option. Default `failures`.
   */
  readonly keep?: Keep;
  /** Time for which a call is kept, in milliseconds. Default 7 days. */
  readonly maxAgeMs?: number;
  /** Time for which its arguments, output, error and log lines are kept, in milliseconds. Default 24 hours. */
  readonly detailAgeMs?: number;
  /**
   * Size in bytes of the file, or of the data of all engines in Redis, from which the oldest calls are removed; at
   * least 16 MiB. Default 256 MiB, and 64 MiB in Redis, which keeps them in memory.
   */
  readonly maxBytes?: number;
  /** Replaces values before they are kept. A schema's `writeOnly` values and passwords are `[redacted]` in any case. */
  readonly redact?: RedactValue;
  /**
   * Whether the engine continues calls that an earlier or another process has stored in the same file. Default true.
   * `false`: only those that it has stored itself, as in a process that decides on calls which others run.
   */
  readonly resume?: boolean;
  /** Time after which a waiting call is cancelled, in milliseconds; at most 90 days. Default 7 days. */
  readonly expiresMs?: number;
  /** Time for which the result of a call that has waited is kept, in milliseconds; at most 30 days. Default 24 hours. */
  readonly keepMs?: number;
  /** A timer that is due sooner than this does not pause its call, in milliseconds; at most a minute. Default 1,000. */
  readonly lingerMs?: number;
  /** Bytes of a waiting call, with its journal; 64 KiB to 64 MiB. Default 8 MiB. */
  readonly callBytes?: number;
  /** Waiting calls of a tenant at once, and their bytes. Default 10,000 and 1 GiB. */
  readonly perTenant?: number;
  readonly tenantBytes?: number;
  /** Calls that this engine continues at once after their waits. Default 64. */
  readonly resumeAtOnce?: number;
  /** Addresses that are notified of calls that wait for a person, are in doubt, or have ended: at most 8. */
  readonly notify?: readonly NotifyTarget[];
}

/** Names of the options. */
export const CALL_MEMBERS: readonly string[] = Object.keys({
  path: true,
  url: true,
  fleet: true,
  secret: true,
  keep: true,
  maxAgeMs: true,
  detailAgeMs: true,
  maxBytes: true,
  redact: true,
  resume: true,
  expiresMs: true,
  keepMs: true,
  lingerMs: true,
  callBytes: true,
  perTenant: true,
  tenantBytes: true,
  resumeAtOnce: true,
  notify: true,
} satisfies { readonly [Name in keyof Required<CallOptions>]: true });

/** Options of kept calls with their defaults. */
export interface ResolvedCallOptions {
  readonly keep: Keep;
  readonly redact: RedactValue | undefined;
  readonly place: { readonly path: string; readonly secret?: string } | PluginStore<CallStoreFactory>;
  readonly room: CallRoom;
  readonly resume: boolean;
  readonly waiting: WaitingOptions;
}

/** Times and numbers of waiting calls. */
export interface WaitingOptions {
  readonly expiresMs: number;
  readonly lingerMs: number;
  readonly resumeAtOnce: number;
}

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;
const MIB = 1024 * 1024;
const KEPT_MAX_MS = 30 * DAY_MS;
const LINGER_MAX_MS = 60_000;

export const DEFAULT_WAITING: WaitingOptions = { expiresMs: 7 * DAY_MS, lingerMs: 1_000, resumeAtOnce: 64 };

export const DEFAULT_ROOM: CallRoom = { maxAgeMs: 7 * 24 * HOUR_MS, detailAgeMs: 24 * HOUR_MS, maxBytes: 256 * MIB };

/** `null` if nothing is kept. Throws if an option is invalid. */
export function resolveCalls(
  options: CallOptions | undefined,
  stateDir: string,
  factory: CallStoreFactory | undefined,
): ResolvedCallOptions | null {
  if (options === undefined) return null;
  const { keep = "failures", maxAgeMs, detailAgeMs, maxBytes, redact, resume = true } = options;
  if (!KEEPS.includes(keep)) throw new TypeError(`calls.keep must be one of ${KEEPS.join(", ")}`);
  if (redact !== undefined && typeof redact !== "function") throw new TypeError("calls.redact must be a function");
  if (typeof resume !== "boolean") throw new TypeError("calls.resume must be true or false");
  checkNotify(options.notify);
  const place = resolvePlace(options, stateDir, factory);
  const maxBytesDefault = "factory" in place ? place.factory.maxBytes : DEFAULT_ROOM.maxBytes;
  const room = {
    maxAgeMs: count("calls.maxAgeMs", maxAgeMs, DEFAULT_ROOM.maxAgeMs, 1),
    detailAgeMs: count("calls.detailAgeMs", detailAgeMs, DEFAULT_ROOM.detailAgeMs, 1),
    maxBytes: count("calls.maxBytes", maxBytes, maxBytesDefault, 16 * MIB),
    durable: resolveCapacity(options),
  };
  return keep === "nothing" ? null : { keep, redact, place, room, resume, waiting: resolveWaiting(options) };
}

function resolveWaiting({ expiresMs, lingerMs, resumeAtOnce }: CallOptions): WaitingOptions {
  const fallback = DEFAULT_WAITING;
  return {
    expiresMs: countWithin("calls.expiresMs", expiresMs, fallback.expiresMs, [1, PAUSE_MAX_MS]),
    lingerMs: countWithin("calls.lingerMs", lingerMs, fallback.lingerMs, [0, LINGER_MAX_MS]),
    resumeAtOnce: countWithin("calls.resumeAtOnce", resumeAtOnce, fallback.resumeAtOnce, [1, 10_000]),
  };
}

function resolveCapacity({ callBytes, perTenant, tenantBytes, keepMs }: CallOptions): DurableCapacity {
  const fallback = DEFAULT_DURABLE;
  return {
    callBytes: countWithin("calls.callBytes", callBytes, fallback.callBytes, [MIB / 16, 64 * MIB]),
    perTenant: countWithin("calls.perTenant", perTenant, fallback.perTenant, [1, 10_000_000]),
    tenantBytes: count("calls.tenantBytes", tenantBytes, fallback.tenantBytes, MIB),
    keepMs: countWithin("calls.keepMs", keepMs, fallback.keepMs, [0, KEPT_MAX_MS]),
  };
}

function resolvePlace(
  { path, url, fleet, secret }: CallOptions,
  stateDir: string,
  factory: CallStoreFactory | undefined,
): ResolvedCallOptions["place"] {
  if (url === undefined) {
    if (fleet !== undefined) throw new TypeError("calls.fleet requires calls.url");
    const sealing = resolveSecret("calls.secret", secret);
    const file = resolveFile(path ?? join(stateDir, "calls.sqlite"));
    return { path: file, ...(sealing === undefined ? {} : { secret: sealing }) };
  }
  if (path !== undefined) throw new TypeError("calls takes a path or a url, not both");
  return pluginStore("calls", factory, { url, fleet, secret });
}

function resolveFile(path: unknown): string {
  if (typeof path !== "string" || path === "" || path.includes("\0")) throw new TypeError("calls.path must be a path");
  return path === IN_MEMORY ? path : resolve(path);
}

/** Whether an earlier process, or another server, may have left waiting calls for this engine to continue. */
export function mayHaveWaiting(calls: ResolvedCallOptions | null): boolean {
  return calls?.resume === true && isStored(calls);
}

/** Whether an earlier process, or another server, may have stored something for it. */
export function isStored(calls: ResolvedCallOptions | null): boolean {
  return calls !== null && (!("path" in calls.place) || existsSync(calls.place.path));
}
