import { lookup as resolve } from "node:dns/promises";
import { isIP, isIPv6, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import { isPublicAddress } from "./address.ts";

/** All addresses of a host's name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** How long requests may take, and how names become addresses. */
export interface ConnectionOptions {
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
export const HEADERS_DEFAULT_MS = 30_000;
const IDLE_DEFAULT_MS = 30_000;
const HEADER_BYTES_MAX = 64 * 1024;
/** A server that asks for it may keep a connection for longer than the default, but not for long. */
const KEPT_MAX_MS = 30_000;

const lookupAll: Lookup = async (hostname) =>
  (await resolve(hostname, { all: true, order: "verbatim" })).map(({ address }) => address);

/**
 * The connections of an engine's requests. Those that may go to private addresses are kept apart, so that no request
 * which may not is ever given one of them: it asks `publicOnly`, whose connections all are to public addresses.
 */
export class Connections {
  readonly publicOnly: Agent;
  readonly anywhere: Agent;

  constructor(options: ConnectionOptions = {}) {
    this.publicOnly = createAgent(options, isPublicAddress);
    this.anywhere = createAgent(options, () => true);
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.publicOnly.destroy(), this.anywhere.destroy()]);
  }
}

function createAgent(options: ConnectionOptions, admits: (address: string) => boolean): Agent {
  const { lookup = lookupAll, connectMs = CONNECT_DEFAULT_MS, idleMs = IDLE_DEFAULT_MS } = options;
  const connect = buildConnector({ allowH2: false, timeout: connectMs, lookup: guardLookup(lookup, admits) });
  return new Agent({
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: HEADER_BYTES_MAX,
    keepAliveMaxTimeout: KEPT_MAX_MS,
    headersTimeout: options.headersMs ?? HEADERS_DEFAULT_MS,
    bodyTimeout: idleMs,
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

/**
 * Looks a name up for a connection, which is made to no other address than it gives: those that are admitted. Whoever
 * answers otherwise the next time has gained nothing.
 */
export function guardLookup(lookup: Lookup, admits: (address: string) => boolean): LookupFunction {
  return (hostname, { all }, callback) => {
    lookup(hostname).then(
      (found) => {
        const addresses = found
          .filter((address) => isIP(address) !== 0 && admits(address))
          .map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
        const [first] = addresses;
        if (first === undefined) callback(found.length > 0 ? new PrivateAddressError() : noAddress(), "");
        else if (all !== true) callback(null, first.address, first.family);
        else callback(null, addresses);
      },
      (error: unknown) => callback(error instanceof Error ? error : noAddress(), ""),
    );
  };
}

function noAddress(): Error {
  return Object.assign(new Error("the name has no address"), { code: "ENOTFOUND" });
}
