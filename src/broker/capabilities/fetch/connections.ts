import type { LookupAddress } from "node:dns";
import { lookup as resolve } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import type * as Undici from "undici";
import type { Agent } from "undici";
import { isPublicAddress } from "./address.ts";

/** All addresses of a host's name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** How long requests may take, and how names become addresses. */
export interface FetchOptions {
  /** Default: as the operating system does it. */
  readonly lookup?: Lookup | undefined;
  /** Longest wait for a connection, from the name's lookup to the end of TLS's handshake. Default 10,000. */
  readonly connectMs?: number | undefined;
  /** Longest wait for an answer's headers, from the lookup on. Default 30,000. */
  readonly headersMs?: number | undefined;
  /** Longest wait for more of an answer's body. Default 30,000. */
  readonly idleMs?: number | undefined;
}

/** Why a connection was not made: no tool needs to hear the address. */
export class PrivateAddressError extends Error {
  override readonly name = "PrivateAddressError";
}

const CONNECT_DEFAULT_MS = 10_000;
const HEADERS_DEFAULT_MS = 30_000;
const IDLE_DEFAULT_MS = 30_000;
/** Timers hold no more. */
const DURATION_MAX_MS = 2_147_483_647;
const HEADER_BYTES_MAX = 64 * 1024;
/** A server that asks for it may keep a connection for longer than the default, but not for long. */
const KEPT_MAX_MS = 30_000;

const lookupAll: Lookup = async (hostname) =>
  (await resolve(hostname, { all: true, order: "verbatim" })).map(({ address }) => address);

/**
 * The connections of an engine's requests. Those that may go to private addresses are kept apart, so that no request
 * which may not is ever given one of them: all of its agent's connections are to public addresses.
 */
export class Connections {
  readonly headersMs: number;
  readonly #connectMs: number;
  readonly #idleMs: number;
  readonly #lookup: Lookup;
  #agents: Promise<{ readonly publicOnly: Agent; readonly anywhere: Agent }> | null = null;

  /** Throws a `RangeError` or `TypeError` that names the option that is wrong. */
  constructor({ lookup = lookupAll, connectMs, headersMs, idleMs }: FetchOptions = {}) {
    if (typeof lookup !== "function") throw new TypeError("fetch.lookup is a function");
    this.headersMs = readDuration("headersMs", headersMs, HEADERS_DEFAULT_MS);
    this.#connectMs = readDuration("connectMs", connectMs, CONNECT_DEFAULT_MS);
    this.#idleMs = readDuration("idleMs", idleMs, IDLE_DEFAULT_MS);
    this.#lookup = lookup;
  }

  /** Who connects. Whoever starts an engine need not wait for what only some tools use, so it is loaded here. */
  async agent(isPrivate: boolean): Promise<Agent> {
    this.#agents ??= import("undici").then((undici) => ({
      publicOnly: this.#create(undici, isPublicAddress),
      anywhere: this.#create(undici, () => true),
    }));
    const { publicOnly, anywhere } = await this.#agents;
    return isPrivate ? anywhere : publicOnly;
  }

  async close(): Promise<void> {
    const agents = await this.#agents;
    await Promise.allSettled([agents?.publicOnly.destroy(), agents?.anywhere.destroy()]);
  }

  #create({ Agent: NewAgent, buildConnector }: typeof Undici, admits: (address: string) => boolean): Agent {
    const lookup = guardLookup(this.#lookup, admits);
    const connect = buildConnector({ allowH2: false, timeout: this.#connectMs, lookup });
    return new NewAgent({
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: HEADER_BYTES_MAX,
      keepAliveMaxTimeout: KEPT_MAX_MS,
      headersTimeout: this.headersMs,
      bodyTimeout: this.#idleMs,
      connect: (target, callback) => {
        // Node looks no address up, so those that stand in the URL come by here.
        if (isIP(target.hostname) !== 0 && !admits(target.hostname)) {
          queueMicrotask(() => callback(new PrivateAddressError(), null));
          return;
        }
        connect(target, (...[error, socket]) => {
          if (error !== null) return callback(error, null);
          if (admits(socket.remoteAddress ?? "")) return callback(null, socket);
          socket.destroy();
          callback(new PrivateAddressError(), null);
        });
      },
    });
  }
}

function readDuration(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value > 0) return Math.min(value, DURATION_MAX_MS);
  throw new RangeError(`fetch.${name} must be a number above 0`);
}

/**
 * Looks a name up for a connection, which is made to no other address than it gives: those that are admitted. Whoever
 * answers otherwise the next time has gained nothing.
 */
export function guardLookup(lookup: Lookup, admits: (address: string) => boolean): LookupFunction {
  return (hostname, { all }, callback) => {
    admittedOf(hostname, lookup, admits).then(
      ([first, ...rest]) => {
        if (all === true) callback(null, [first, ...rest]);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(error instanceof Error ? error : noAddress(), ""),
    );
  };
}

async function admittedOf(
  hostname: string,
  lookup: Lookup,
  admits: (address: string) => boolean,
): Promise<readonly [LookupAddress, ...LookupAddress[]]> {
  const found = await lookup(hostname);
  const [first, ...rest] = found
    .filter((address) => isIP(address) !== 0 && admits(address))
    .map((address) => ({ address, family: isIP(address) }));
  if (first !== undefined) return [first, ...rest];
  throw found.length > 0 ? new PrivateAddressError() : noAddress();
}

function noAddress(): Error {
  return Object.assign(new Error("the name has no address"), { code: "ENOTFOUND" });
}
