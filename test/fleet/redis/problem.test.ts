import { describe, expect, test } from "vitest";
import { redisProblemOf, RedisRefusals } from "../../../src/fleet/redis/problem.ts";

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: "ReplyError", command: { name: "auth", args: ["hush-hush"] } });
}
function coded(code: string): Error {
  return Object.assign(new Error(`${code} 10.1.2.3:6379 hush-hush`), { code });
}

/** Errors as the client has them, from Redis 7. */
const ERRORS: readonly (readonly [string, Error, string, boolean])[] = [
  ["nothing listens", coded("ECONNREFUSED"), "unreachable", false],
  ["an unknown host", coded("ENOTFOUND"), "unreachable", false],
  ["a port that asks for TLS", coded("ECONNRESET"), "unreachable", false],
  ["silence", new Error("connect ETIMEDOUT"), "silent", false],
  ["a wrong password", reply("WRONGPASS invalid username-password pair or user is disabled."), "login", true],
  ["no password", reply("NOAUTH HELLO must be called with the client already authenticated"), "login", true],
  ["a denied command", reply("NOPERM this user has no permissions to run the 'set' command"), "permission", true],
  [
    "a denied key",
    reply("NOPERM this user has no permissions to access one of the keys used as arguments"),
    "permission",
    true,
  ],
  [
    "a denied command in a script",
    reply("ERR The user executing the script can't run this command or subcommand script: 91, on @user_script:1."),
    "permission",
    true,
  ],
  ["a database too many", reply("ERR DB index is out of range"), "database", true],
  ["a certificate for another name", coded("ERR_TLS_CERT_ALTNAME_INVALID"), "tls", true],
  ["an unknown authority", coded("SELF_SIGNED_CERT_IN_CHAIN"), "tls", true],
  ["a port without TLS", coded("ERR_SSL_WRONG_VERSION_NUMBER"), "tls", true],
  [
    "full memory",
    reply("OOM command not allowed when used memory > 'maxmemory'. script: 91, on @user_script:1."),
    "full",
    false,
  ],
  ["too few replicas", reply("NOREPLICAS Not enough good replicas to write."), "replica", false],
  ["something else than Redis", new Error('Protocol error, got "H" as reply type byte'), "unreachable", false],
  ["a replica", reply("READONLY You can't write against a read only replica."), "replica", false],
  [
    "a full disk",
    reply("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."),
    "disk",
    false,
  ],
  ["a start", reply("LOADING Redis is loading the dataset in memory"), "busy", false],
  ["a node of a cluster", reply("MOVED 866 10.1.2.3:7001"), "cluster", true],
  ["a cluster in parts", reply("CLUSTERDOWN Hash slot not served"), "cluster", false],
  ["no cluster", reply("ERR This instance has cluster support disabled"), "cluster", true],
  [
    "an unknown master",
    new Error(
      "All sentinels are unreachable. Retrying from scratch after 10ms. Last error: ERR No such master with that name",
    ),
    "sentinel",
    true,
  ],
  [
    "no sentinel",
    new Error(
      "All sentinels are unreachable. Retrying from scratch after 10ms. Last error: ERR unknown command 'sentinel', with args beginning with: 'hush-hush'",
    ),
    "sentinel",
    true,
  ],
  [
    "lost sentinels",
    new Error("All sentinels are unreachable. Retrying from scratch after 10ms. Last error: Connection is closed."),
    "unreachable",
    false,
  ],
  ["another program", new Error('Unknown RESP type 72 "H". Please report this.'), "unreachable", false],
  ["what nobody knows", reply("EXTRA hush-hush"), "other", false],
];

describe("a problem of Redis", () => {
  test.each(ERRORS)("%s is named, with what to do, and shows nothing of its text", (_what, error, kind, isLasting) => {
    const problem = redisProblemOf(error);
    expect(problem).toMatchObject({ kind, isLasting });
    expect(problem.what).not.toBe("");
    expect(problem.remedy).not.toBe("");
    expect(JSON.stringify(problem)).not.toMatch(/hush|10\.1\.2\.3/);
  });

  test("of a cluster is that of its last node", () => {
    const all = Object.assign(new Error("Failed to refresh slots cache."), { lastNodeError: coded("ECONNREFUSED") });
    expect(redisProblemOf(all).code).toBe("ECONNREFUSED");
  });

  test("names the command that is denied", () => {
    expect(redisProblemOf(reply("NOPERM this user has no permissions to run the 'client|list' command")).what).toBe(
      "does not permit client|list to the user of the URL",
    );
  });
});

describe("refusals of commands", () => {
  test("count where they say something about Redis", () => {
    const refusals = new RedisRefusals();
    for (const message of ["WRONGTYPE Operation against a key", "NOSCRIPT No matching script.", "ERR syntax error"])
      refusals.note(reply(message));
    expect(refusals.problem).toBeNull();
    refusals.note(reply("OOM command not allowed when used memory > 'maxmemory'."));
    expect(refusals.problem).toMatchObject({ kind: "full" });
  });

  test("of all writes are over with the first key that is written, and those of an ACL are not", () => {
    const refusals = new RedisRefusals();
    refusals.note(reply("OOM command not allowed when used memory > 'maxmemory'."));
    refusals.noteWritten();
    expect(refusals.problem).toBeNull();
    refusals.note(reply("NOPERM this user has no permissions to run the 'eval' command"));
    refusals.noteWritten();
    expect(refusals.problem).toMatchObject({ kind: "permission" });
  });
});

test("an answer that is not in the protocol of Redis has a code of its own", () => {
  const { code, what } = redisProblemOf(new Error('Protocol error, got "H" as reply type byte'));
  expect([code, what]).toEqual(["EPROTO", "does not speak the protocol of Redis"]);
});
