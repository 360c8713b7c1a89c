import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import type * as Undici from "undici";
import type { Dispatcher } from "undici";
import { type Lookup, systemLookup } from "./lookups.ts";
import { InformationalLimit } from "./passing-handler.ts";

/** In a public range, but the metadata service of a cloud (Azure's). */
const METADATA = "168.63.129.16";

const [ISATAP, NAT64_HIGH, NAT64_LOW] = [0x5efe, 0x64, 0xff9b];

/**
 * Whether an address is on the public internet. False for loopback, private, link-local, shared, multicast and
 * documentation addresses, for metadata services of clouds, for IPv6 addresses that embed one of these, and for
 * tunnels, because their end cannot be determined. Also false for a text that is not an address.
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
  // NAT64: in a network without IPv4, resolvers return such an address for a public IPv4 address.
  const isNat64 = first === NAT64_HIGH && second === NAT64_LOW && parts.slice(2, 6).every((part) => part === 0);
  if (isNat64) return isPublicV4(embedded(parts));
  // 2000::/3 is the only part allocated so far; ipaddr.js names the tunnels and reserved ranges within it.
  if (first >> 13 !== 1 || address.range() !== "unicast") return false;
  const isIsatap = parts[5] === ISATAP && (parts[4] === 0 || parts[4] === 0x200);
  return !isIsatap || isPublicV4(embedded(parts));
}

/** The IPv4 address in the last 32 bits. */
function embedded(parts: readonly number[]): ipaddr.IPv4 {
  const [high = 0, low = 0] = parts.slice(6);
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}

/** Whether a URL names an address that is not public, or `localhost`. */
export function isPrivateHost({ hostname }: Pick<URL, "hostname">): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, "").toLowerCase();
  return host === "localhost" || (isIP(host) !== 0 && !isPublicAddress(host));
}

/** Timeouts of requests, and name resolution. */
export interface FetchOptions {
  /** Default: the operating system's resolver. */
  readonly lookup?: Lookup | undefined;
  /** Timeout of a connection, from the name lookup to the end of the TLS handshake. Default: 10,000. */
  readonly connectMs?: number | undefined;
  /** Timeout of a response's headers, from the lookup on. Default: 30,000. */
  readonly headersMs?: number | undefined;
  /** Timeout between two parts of a response's body. Default: 30,000. */
  readonly idleMs?: number | undefined;
}

/** Thrown if an address is not public. Names no address, because tools need not know it. */
export class PrivateAddressError extends Error {
  override readonly name = "PrivateAddressError";
}

const CONNECT_DEFAULT_MS = 10_000;
const HEADERS_DEFAULT_MS = 30_000;
const IDLE_DEFAULT_MS = 30_000;
/** Maximum duration of a timer. */
const DURATION_MAX_MS = 2_147_483_647;
/** Also for trailers. The value of Node's own `fetch`: a server may send headers of two bytes, each several objects. */
const HEADER_BYTES_MAX = 16 * 1024;
/** Maximum size of a message of a WebSocket, in bytes, and number of its fragments. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;
const FRAGMENTS_MAX = 4_096;
/** Maximum time for which a connection is kept alive, regardless of the server's request. */
const KEPT_MAX_MS = 30_000;
/** Open connections from which on none is kept alive: a tool may ask more servers than there are descriptors. */
const KEPT_MAX = 1_024;

/**
 * Connections of an engine's requests. Connections to private addresses have an agent of their own, so that a request
 * without that permission never reuses one: all connections of its agent are to public addresses.
 */
export class Connections {
  readonly headersMs: number;
  readonly #connectMs: number;
  readonly #idleMs: number;
  readonly #lookup: Lookup;
  #agents: Promise<{ readonly publicOnly: Dispatcher; readonly anywhere: Dispatcher }> | null = null;

  /** Throws a `RangeError` or `TypeError` that names the invalid option. */
  constructor({ lookup = systemLookup, connectMs, headersMs, idleMs }: FetchOptions = {}) {
    if (typeof lookup !== "function") throw new TypeError("fetch.lookup is a function");
    this.headersMs = readDuration("headersMs", headersMs, HEADERS_DEFAULT_MS);
    this.#connectMs = readDuration("connectMs", connectMs, CONNECT_DEFAULT_MS);
    this.#idleMs = readDuration("idleMs", idleMs, IDLE_DEFAULT_MS);
    this.#lookup = lookup;
  }

  /** The agent for public or for all addresses. Undici is loaded lazily, because only some tools use it. */
  async agent(isPrivate: boolean): Promise<Dispatcher> {
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

  #create({ Agent: NewAgent, buildConnector }: typeof Undici, admits: (address: string) => boolean): Dispatcher {
    const lookup = guardLookup(this.#lookup, admits);
    const connect = buildConnector({ allowH2: false, timeout: this.#connectMs, lookup });
    let open = 0;
    const agent = new NewAgent({
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: HEADER_BYTES_MAX,
      keepAliveMaxTimeout: KEPT_MAX_MS,
      headersTimeout: this.headersMs,
      bodyTimeout: this.#idleMs,
      webSocket: { maxPayloadSize: MESSAGE_BYTES_MAX, maxFragments: FRAGMENTS_MAX },
      connect: (target, callback) => {
        // Node does not look up IP addresses, so addresses in URLs bypass `lookup` and are checked here.
        if (isIP(target.hostname) !== 0 && !admits(target.hostname)) {
          queueMicrotask(() => callback(new PrivateAddressError(), null));
          return;
        }
        connect(target, (...[error, socket]) => {
          if (error !== null) return callback(error, null);
          open++;
          socket.once("close", () => open--);
          if (admits(socket.remoteAddress ?? "")) return callback(null, socket);
          socket.destroy();
          callback(new PrivateAddressError(), null);
        });
      },
    });
    return agent.compose(
      (dispatch) => (options, handler) =>
        dispatch(open < KEPT_MAX ? options : { ...options, reset: true }, new InformationalLimit(handler)),
    );
  }
}

function readDuration(name: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && value > 0) return Math.min(value, DURATION_MAX_MS);
  throw new RangeError(`fetch.${name} must be a number above 0`);
}

/**
 * Looks up a name for a connection, and returns only the admitted addresses. The connection uses one of these, so a
 * server that resolves differently the next time (DNS rebinding) gains nothing.
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
