import { isIPv6 } from "node:net";

/** Options of a client that a URL sets. Without types of `ioredis`: declarations that lead here are read without it. */
interface RedisUrlOptions {
  readonly host?: string;
  readonly port?: number;
  readonly db?: number;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: object;
  readonly sentinels?: { readonly host: string; readonly port: number }[];
  readonly name?: string;
  readonly sentinelPassword?: string;
  readonly sentinelTLS?: object;
  readonly enableTLSForSentinelMode?: boolean;
}

/** Address of Redis: a single server, a master found by sentinels, or a cluster. */
export type RedisAddress =
  | { readonly kind: "server" | "sentinel"; readonly options: RedisUrlOptions }
  | {
      readonly kind: "cluster";
      readonly nodes: readonly { readonly host: string; readonly port: number }[];
      readonly options: RedisUrlOptions;
    };

/** `redis://user:password@host:port/db`; schemes with several hosts separate them by commas. */
const FORM =
  /^(?<scheme>rediss?(?:\+(?:sentinel|cluster))?):\/\/(?:(?<user>[^@/]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^?#]*))?$/;
const HOST = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<name>[^\s:[\]]+))(?::(?<port>\d{1,5}))?$/;
const HOSTS_MAX = 64;
const PORT = 6_379;
const SENTINEL_PORT = 26_379;

/**
 * Parses the URL of Redis:
 *
 * - `redis://[[user]:password@]host[:port][/db]`: a single server
 * - `redis+sentinel://[[user]:password@]host[:port][,…]/name[/db]`: the master that these sentinels call `name`;
 *   sentinels and master have the same password
 * - `redis+cluster://[[user]:password@]host[:port][,…]`: a cluster, by any of its nodes
 *
 * With `rediss` in place of `redis`, all connections use TLS. Certificates are checked against the authorities that
 * Node.js trusts; `NODE_EXTRA_CA_CERTS` names a file with additional ones.
 *
 * Throws a `TypeError` that does not show the URL, which may contain a password.
 */
export function readRedisUrl(url: string): RedisAddress {
  const { scheme = "", user, hosts = "", path = "" } = FORM.exec(url)?.groups ?? {};
  if (scheme === "") throw wrong("is not redis://, rediss://, redis+sentinel:// or redis+cluster://");
  const isSentinel = scheme.endsWith("+sentinel");
  const nodes = readHosts(hosts, isSentinel ? SENTINEL_PORT : PORT);
  const tls = scheme.startsWith("rediss") ? { tls: {} } : {};
  const options = { ...readUser(user), ...tls };
  if (scheme.endsWith("+cluster")) {
    if (path !== "") throw wrong("names a database, but a cluster has only one");
    return { kind: "cluster", nodes, options };
  }
  if (isSentinel) {
    const [name = "", db = "", ...more] = path.split("/");
    if (name === "" || more.length > 0) throw wrong("does not say which master: redis+sentinel://host/name");
    // The client has separate options for TLS to the sentinels and to the master.
    const sentinelTls = "tls" in tls ? { sentinelTLS: tls.tls, enableTLSForSentinelMode: true } : {};
    const sentinelPassword = options.password === undefined ? {} : { sentinelPassword: options.password };
    const master = { sentinels: [...nodes], name: decode(name), db: readDatabase(db) };
    return { kind: "sentinel", options: { ...options, ...sentinelTls, ...sentinelPassword, ...master } };
  }
  const [node, second] = nodes;
  if (node === undefined || second !== undefined) throw wrong("has several hosts, but its scheme allows one");
  return { kind: "server", options: { ...options, ...node, db: readDatabase(path) } };
}

function readHosts(text: string, port: number): { host: string; port: number }[] {
  const hosts = text.split(",");
  if (hosts.length > HOSTS_MAX) throw wrong(`has more than ${HOSTS_MAX} hosts`);
  return hosts.map((each) => {
    const found = HOST.exec(each)?.groups;
    const given = found?.["port"];
    const number = given === undefined ? port : Number(given);
    const v6 = found?.["v6"];
    const host = v6 ?? found?.["name"];
    if (host === undefined || (v6 !== undefined && !isIPv6(v6)) || number < 1 || number > 65_535)
      throw wrong("has an invalid host");
    return { host, port: number };
  });
}

function readUser(text: string | undefined): { readonly username?: string; readonly password?: string } {
  if (text === undefined || text === "") return {};
  const colon = text.indexOf(":");
  const [username, password] = colon < 0 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  return {
    ...(username === "" ? {} : { username: decode(username) }),
    ...(password === "" ? {} : { password: decode(password) }),
  };
}

function readDatabase(text: string): number {
  if (text === "") return 0;
  if (!/^\d{1,4}$/.test(text)) throw wrong("has a database that is not a number");
  return Number(text);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong("has an invalid % escape");
  }
}

function wrong(why: string): TypeError {
  return new TypeError(`the URL of Redis ${why}`);
}

export const FLEET_DEFAULT = "default";
/** Characters allowed as a part of a key in Redis. */
const FLEET_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Checks the option with the URL of Redis. Throws a `TypeError` that does not show the URL, which may contain a
 * password.
 */
export function resolveRedisUrl(option: string, url: unknown): string {
  if (typeof url !== "string") throw new TypeError(`${option} must be a string`);
  try {
    readRedisUrl(url);
  } catch (error) {
    throw new TypeError(`${option}: ${error instanceof Error ? error.message : "it cannot be read"}`, { cause: error });
  }
  return url;
}

/**
 * Returns the name under which participants share keys in a Redis, or the default. Throws a `TypeError` if it is
 * invalid.
 */
export function resolveFleetName(option: string, name: unknown = FLEET_DEFAULT): string {
  if (typeof name !== "string" || !FLEET_NAME.test(name))
    throw new TypeError(`${option}: the name of a fleet has 1 to 64 of A-Z, a-z, 0-9, dot, dash and underscore`);
  return name;
}
