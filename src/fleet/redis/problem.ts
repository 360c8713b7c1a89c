import type { RedisProblem, RedisProblemKind } from "../../kernel/store/outage.ts";

/** The cause of an error that a problem with Redis has. */
export class RedisProblemError extends Error {
  override readonly name = "RedisProblemError";
  readonly problem: RedisProblem;

  constructor(problem: RedisProblem) {
    super(`Redis ${problem.what} (${problem.code})`);
    this.problem = problem;
  }
}

type Words = Omit<RedisProblem, "code" | "isLasting"> & { readonly isLasting?: true };

const GRANT = "`glovebox redis acl` prints the rules that suffice";

const LOGIN: Words = {
  kind: "login",
  what: "refused the login",
  remedy: "check the user and the password in its URL",
  isLasting: true,
};
const PERMISSION: Words = {
  kind: "permission",
  what: "does not permit a command or a key to the user of the URL",
  remedy: GRANT,
  isLasting: true,
};
const DATABASE: Words = {
  kind: "database",
  what: "does not have the database that the URL names",
  remedy: "name another one, or raise `databases` of Redis",
  isLasting: true,
};
const NOT_A_CLUSTER: Words = {
  kind: "cluster",
  what: "is not a cluster, though its URL says so",
  remedy: "write redis:// or rediss:// in place of +cluster",
  isLasting: true,
};
const IN_A_CLUSTER: Words = {
  kind: "cluster",
  what: "is a node of a cluster, though its URL does not say so",
  remedy: "write redis+cluster:// or rediss+cluster://",
  isLasting: true,
};
const UNKNOWN_MASTER: Words = {
  kind: "sentinel",
  what: "cannot be found: its sentinels know no master of that name",
  remedy: "check the name behind the hosts of the URL",
  isLasting: true,
};
const NO_SENTINEL: Words = {
  kind: "sentinel",
  what: "cannot be found: the hosts of the URL are not sentinels",
  remedy: "name the ports of the sentinels, or write redis:// or rediss://",
  isLasting: true,
};
const IS_SENTINEL: Words = {
  kind: "sentinel",
  what: "does not know a command that every Redis has: it is a sentinel, or no Redis",
  remedy: "write redis+sentinel://HOST:PORT/NAME for a sentinel, else check the port",
  isLasting: true,
};
const BUSY: Words = {
  kind: "busy",
  what: "is busy and serves nobody now",
  remedy: "wait, or look into its log: it loads its data, or runs a long script",
};
const UNREACHABLE: Words = {
  kind: "unreachable",
  what: "cannot be reached",
  remedy: "check that it runs, and the host and the port in its URL",
};
const UNKNOWN_HOST: Words = { ...UNREACHABLE, remedy: "check the host in its URL, and the resolution of names" };
const CUT: Words = {
  ...UNREACHABLE,
  what: "ends connections",
  remedy: "check that it runs, and whether its port asks for TLS (rediss://)",
};
const SILENT: Words = {
  kind: "silent",
  what: "does not answer in time",
  remedy:
    "check its load, the network, and whether its port speaks TLS where the URL is rediss://, and does not where it is redis://",
};
const TLS: Words = {
  kind: "tls",
  what: "has a certificate that is not trusted",
  remedy: "name the authority's file in NODE_EXTRA_CA_CERTS, or renew the certificate",
  isLasting: true,
};
const TLS_NAME: Words = {
  ...TLS,
  what: "has a certificate for another name",
  remedy: "write the host in its URL as the certificate has it",
};
const TLS_PORT: Words = {
  ...TLS,
  what: "does not speak TLS at this port",
  remedy: "write redis:// in place of rediss://, or name its TLS port",
};

/** By first word of a reply, or code of the system. */
const BY_CODE = new Map<string, Words>([
  ["WRONGPASS", LOGIN],
  ["NOAUTH", LOGIN],
  ["NOPERM", PERMISSION],
  ["MOVED", IN_A_CLUSTER],
  [
    "OOM",
    {
      kind: "full",
      what: "is full: its maxmemory is reached",
      remedy: "raise maxmemory; maxmemory-policy stays noeviction",
    },
  ],
  [
    "READONLY",
    {
      kind: "replica",
      what: "is a replica, which refuses writes",
      remedy: "name the master in its URL, or use redis+sentinel://",
    },
  ],
  [
    "MISCONF",
    {
      kind: "disk",
      what: "refuses writes because it cannot save its data",
      remedy: "look into its log and make room on its disk",
    },
  ],
  [
    "CLUSTERDOWN",
    {
      kind: "cluster",
      what: "is a cluster of which a part is down",
      remedy: "bring its nodes back: `redis-cli --cluster check HOST:PORT`",
    },
  ],
  [
    "NOREPLICAS",
    {
      kind: "replica",
      what: "refuses writes because too few of its replicas are there",
      remedy: "bring them back, or lower min-replicas-to-write",
    },
  ],
  ...["LOADING", "BUSY", "MASTERDOWN", "TRYAGAIN"].map((code) => [code, BUSY] as const),
  ["ENOTFOUND", UNKNOWN_HOST],
  ["EAI_AGAIN", UNKNOWN_HOST],
  ["ECONNRESET", CUT],
  ["EPIPE", CUT],
  ["ETIMEDOUT", SILENT],
  ["ERR_TLS_CERT_ALTNAME_INVALID", TLS_NAME],
  ["ERR_SSL_WRONG_VERSION_NUMBER", TLS_PORT],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", TLS_PORT],
]);

/** Messages of the client for an answer that is not in the protocol of Redis. */
const GARBAGE = /Unknown RESP type|Protocol error/;

/** Errors with the word `ERR`, by their text, which is not passed on. */
const BY_TEXT: readonly (readonly [RegExp, Words])[] = [
  [/\bDB index is out of range|SELECT is not allowed|invalid DB index/, DATABASE],
  [/The user executing the script can't/, PERMISSION],
  [/cluster support disabled/, NOT_A_CLUSTER],
  [/No such master with that name/, UNKNOWN_MASTER],
  [/unknown command.{0,3}sentinel/i, NO_SENTINEL],
  [/^ERR unknown command/, IS_SENTINEL],
  [
    GARBAGE,
    { ...UNREACHABLE, what: "does not speak the protocol of Redis", remedy: "check the host and the port in its URL" },
  ],
];

/** The command in a refusal of Redis. */
const DENIED = /^NOPERM .{0,200}'(?<command>[a-z]{1,32}(?:\|[a-z-]{1,32})?)' command/;
const OF_TLS = /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH)/;

/** Redis begins errors with a code; the system's code is inside the message; errors of sentinels quote either. */
const CODE = /(?:^|: )(?<ofRedis>[A-Z]{3,})\b|\b(?<ofSystem>E[A-Z]{3,})\b/;
/** Message of the client without the cause: for sentinels, and for nodes of a cluster. */
const CLOSED = /Connection is closed/;
const LATE = /time(?:d )?out/i;

/** Reduces an error of the client to a code of the system, of TLS or of Redis, without the text of its message. */
function codeOf(error: Error): string {
  if ("code" in error && typeof error.code === "string") return error.code;
  const { ofRedis, ofSystem } = CODE.exec(error.message)?.groups ?? {};
  const code = ofRedis ?? ofSystem;
  if (code !== undefined) return code;
  if (LATE.test(error.message)) return "ETIMEDOUT";
  if (CLOSED.test(error.message)) return "UNREACHABLE";
  return GARBAGE.test(error.message) ? "EPROTO" : error.name;
}

/** The problem that an error of the client shows: of a connection, or a reply to a command. */
export function redisProblemOf(error: unknown): RedisProblem {
  if (!(error instanceof Error)) return problemOf("UNKNOWN");
  // The client of a cluster reports all nodes in one error, which contains the cause.
  if ("lastNodeError" in error && error.lastNodeError instanceof Error) return redisProblemOf(error.lastNodeError);
  const code = codeOf(error);
  const words = BY_CODE.has(code) ? undefined : BY_TEXT.find(([text]) => text.test(error.message))?.[1];
  const { command } = DENIED.exec(error.message)?.groups ?? {};
  if (command === undefined) return problemOf(code, words);
  return { ...problemOf(code, words), what: `does not permit ${command} to the user of the URL` };
}

/** The problem with a code of the system, of TLS or of Redis. */
export function problemOf(code: string, words = BY_CODE.get(code)): RedisProblem {
  const { isLasting = false, ...said } = words ?? (OF_TLS.test(code) ? TLS : otherWords(code));
  return { ...said, code, isLasting };
}

function otherWords(code: string): Words {
  if (/^E(?:CONN|HOST|NET|ADDR|ACCES|TIMED|NOENT)[A-Z]*$|^UNREACHABLE$/.test(code)) return UNREACHABLE;
  return { kind: "other", what: "fails", remedy: "look into its log" };
}

/** Time for which a refusal counts after the last one: members of a fleet write every second, probes every few. */
const REFUSED_MS = 8_000;

/** Kinds of refused commands that concern Redis, and not only the command. */
const OF_STATE: ReadonlySet<RedisProblemKind> = new Set(["permission", "full", "replica", "disk", "cluster", "login"]);

/** Kinds of `OF_STATE` in which no key can be written: a successful write ends them. */
const OF_WRITES: ReadonlySet<RedisProblemKind> = new Set(["full", "replica", "disk", "cluster"]);

/** The last refusal of a command on connections that belong together. */
export class RedisRefusals {
  #last: RedisProblem | null = null;
  #lastMs = -Infinity;

  /** Notes an error reply. Those of a command's own mistakes do not count. */
  note(error: unknown): void {
    const problem = redisProblemOf(error);
    if (!OF_STATE.has(problem.kind)) return;
    this.#last = problem;
    this.#lastMs = performance.now();
  }

  /** A key was written. An ACL may still refuse other commands. */
  noteWritten(): void {
    if (this.#last !== null && OF_WRITES.has(this.#last.kind)) this.#last = null;
  }

  /** `null` if nothing was refused lately. */
  get problem(): RedisProblem | null {
    return performance.now() - this.#lastMs < REFUSED_MS ? this.#last : null;
  }
}
