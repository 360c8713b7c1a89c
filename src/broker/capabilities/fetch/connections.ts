import type { LookupAddress } from "node:dns";
import { lookup as resolve } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import type * as Undici from "undici";
import type { Agent } from "undici";

/** Public by its number, and yet the metadata service of a cloud (Azure's). */
const METADATA = "168.63.129.16";

const [ISATAP, NAT64_HIGH, NAT64_LOW] = [0x5efe, 0x64, 0xff9b];

/**
 * Whether an address is one of the open internet's. All that may lead elsewhere is not: loopback, private, link-local and
 * shared networks, addresses of groups, of examples and of clouds' metadata, and those of IPv6 that hold one of these, or
 * that are tunnels, because what they end in is nobody's to tell. Whatever is no address is not public either.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false;
  const parsed = ipaddr.parse(address);
  return parsed instanceof ipaddr.IPv6 ? isPublicV6(parsed) : isPublicV4(parsed as ipaddr.IPv4);
}

function isPublicV4(address: ipaddr.IPv4): boolean {
  return address.range() === "unicast" && address.toString() !== METADATA;
}

function isPublicV6(address: ipaddr.IPv6): boolean {
  const { parts } = address;
  const [first = 0, second = 0] = parts;
  if (address.isIPv4MappedAddress()) return isPublicV4(address.toIPv4Address());
  // Where a network has no IPv4, its resolvers give such an address for every public one.
  const isNat64 = first === NAT64_HIGH && second === NAT64_LOW && parts.slice(2, 6).every((part) => part === 0);
  if (isNat64) return isPublicV4(embedded(parts));
  // Only this eighth has been given out; tunnels and what is reserved in it have names of their own.
  if (first >> 13 !== 1 || address.range() !== "unicast") return false;
  const isIsatap = parts[5] === ISATAP && (parts[4] === 0 || parts[4] === 0x200);
  return !isIsatap || isPublicV4(embedded(parts));
}

/** The address of IPv4 in the last 32 bits. */
function embedded(parts: readonly number[]): ipaddr.IPv4 {
  const [high = 0, low = 0] = parts.slice(6);
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

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
