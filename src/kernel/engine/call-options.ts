import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { count } from "../base/limits.ts";
import { IN_MEMORY } from "../store/sqlite/layout.ts";
import { type Keep, KEEPS } from "../store/calls/call-record.ts";
import type { CallRoom } from "../store/calls/call-tables.ts";
import { type CallStoreFactory, type PluginStore, pluginStore } from "../store/store-factory.ts";
import { checkNotify, type NotifyTarget } from "./durable/notify-options.ts";
import type { RedactValue } from "./call/redact-detail.ts";

/** Parts of ended calls that are kept, and the place where. */
export interface CallOptions {
  /**
   * Path of a file that is created on first use and may be shared by engines of one machine; `:memory:` for none. It has
   * values in plain text. Default `calls.sqlite` in `stateDir`.
   */
  readonly path?: string;
  /**
   * URL of a Redis instead of a file, for engines on several machines, each of which then finds the calls of all:
   * `redis://`, `rediss://`, `redis+sentinel://` or `redis+cluster://`. Needs a secret.
   */
  readonly url?: string;
  /** Name of the fleet: engines with the same name and Redis share calls. Default `default`. */
  readonly fleet?: string;
  /** Key that seals calls before they go to Redis: at least 16 characters, the same for all engines of the fleet. */
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
   * Size of the file, or of what all engines keep in Redis, in bytes, from which the oldest calls are removed; at least 16 MiB.
   * Default 256 MiB, and 64 MiB in Redis, which keeps them in memory.
   */
  readonly maxBytes?: number;
  /** Replaces values before they are kept. What a schema calls `writeOnly` or a password is `[redacted]` without it. */
  readonly redact?: RedactValue;
  /**
   * Whether the engine runs calls on that an earlier or another process has stored in the same file. Default true. `false`:
   * only those that it has stored itself, as in a process that decides what others run.
   */
  readonly resume?: boolean;
  /** Addresses that are told of calls that wait for a person, are in doubt, or have ended: at most 8. Needs a file. */
  readonly notify?: readonly NotifyTarget[];
}

/** Options of kept calls with their defaults. */
export interface ResolvedCallOptions {
  readonly keep: Keep;
  readonly redact: RedactValue | undefined;
  readonly place: { readonly path: string } | PluginStore<CallStoreFactory>;
  readonly room: CallRoom;
  readonly resume: boolean;
}

const HOUR_MS = 60 * 60 * 1_000;
const MIB = 1024 * 1024;

export const DEFAULT_ROOM: CallRoom = { maxAgeMs: 7 * 24 * HOUR_MS, detailAgeMs: 24 * HOUR_MS, maxBytes: 256 * MIB };

/** `null` where nothing is kept. Throws where an option is invalid. */
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
  if (options.notify !== undefined && options.url !== undefined)
    throw new TypeError("calls.notify requires calls.path: calls that are kept in Redis do not notify yet");
  const place = resolvePlace(options, stateDir, factory);
  const maxBytesDefault = "factory" in place ? place.factory.maxBytes : DEFAULT_ROOM.maxBytes;
  const room = {
    maxAgeMs: count("calls.maxAgeMs", maxAgeMs, DEFAULT_ROOM.maxAgeMs, 1),
    detailAgeMs: count("calls.detailAgeMs", detailAgeMs, DEFAULT_ROOM.detailAgeMs, 1),
    maxBytes: count("calls.maxBytes", maxBytes, maxBytesDefault, 16 * MIB),
  };
  return keep === "nothing" ? null : { keep, redact, place, room, resume };
}

function resolvePlace(
  { path, url, fleet, secret }: CallOptions,
  stateDir: string,
  factory: CallStoreFactory | undefined,
): { readonly path: string } | PluginStore<CallStoreFactory> {
  if (url === undefined) {
    if (fleet !== undefined || secret !== undefined)
      throw new TypeError("calls.fleet and calls.secret require calls.url");
    return { path: resolveFile(path ?? join(stateDir, "calls.sqlite")) };
  }
  if (path !== undefined) throw new TypeError("calls takes a path or a url, not both");
  return pluginStore("calls", factory, { url, fleet, secret });
}

function resolveFile(path: unknown): string {
  if (typeof path !== "string" || path === "" || path.includes("\0")) throw new TypeError("calls.path must be a path");
  return path === IN_MEMORY ? path : resolve(path);
}

/** Whether an earlier process, or another server, may have left calls that wait, which this engine is to run on. */
export function mayHaveWaiting(calls: ResolvedCallOptions | null): boolean {
  return calls?.resume === true && isStored(calls);
}

/** Whether an earlier process, or another server, may have stored something for it. */
export function isStored(calls: ResolvedCallOptions | null): boolean {
  return calls !== null && (!("path" in calls.place) || existsSync(calls.place.path));
}
