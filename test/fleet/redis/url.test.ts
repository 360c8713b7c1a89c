import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readRedisUrl } from "../../../src/fleet/redis/url.ts";

describe("a single server", () => {
  test("is a host; its port is 6379 and its database 0 unless it says so", () => {
    expect(readRedisUrl("redis://cache")).toEqual({ kind: "server", options: { host: "cache", port: 6_379, db: 0 } });
    expect(readRedisUrl("redis://cache:7000/3").options).toEqual({ host: "cache", port: 7_000, db: 3 });
    expect(readRedisUrl("redis://cache/").options).toEqual({ host: "cache", port: 6_379, db: 0 });
  });

  test("may be an IPv6 address, which stands in brackets", () => {
    expect(readRedisUrl("redis://[::1]:7000").options).toMatchObject({ host: "::1", port: 7_000 });
    expect(readRedisUrl("redis://[2001:db8::7]").options).toMatchObject({ host: "2001:db8::7", port: 6_379 });
  });

  test("may ask for a password, or for a user and a password", () => {
    expect(readRedisUrl("redis://:secret@cache").options).toMatchObject({ password: "secret" });
    expect(readRedisUrl("redis://:secret@cache").options).not.toHaveProperty("username");
    expect(readRedisUrl("redis://ada:secret@cache").options).toMatchObject({ username: "ada", password: "secret" });
    expect(readRedisUrl("redis://ada@cache").options).not.toHaveProperty("password");
    expect(readRedisUrl("redis://@cache").options).toEqual({ host: "cache", port: 6_379, db: 0 });
  });

  test("has a password with a colon as it stands, and with @ and / as percent signs say", () => {
    expect(readRedisUrl("redis://:a:b%40c%2Fd%25e@cache").options).toMatchObject({ password: "a:b@c/d%e" });
  });

  test("speaks TLS where the scheme says so", () => {
    expect(readRedisUrl("rediss://cache").options).toEqual({ host: "cache", port: 6_379, db: 0, tls: {} });
  });
});

describe("sentinels", () => {
  test("name a master, and are asked on 26379 unless they say so", () => {
    expect(readRedisUrl("redis+sentinel://a,b:7000,[::1]/main")).toEqual({
      kind: "sentinel",
      options: {
        sentinels: [
          { host: "a", port: 26_379 },
          { host: "b", port: 7_000 },
          { host: "::1", port: 26_379 },
        ],
        name: "main",
        db: 0,
      },
    });
    expect(readRedisUrl("redis+sentinel://a/my%20master/2").options).toMatchObject({ name: "my master", db: 2 });
  });

  test("get the servers' password as well, but not the user, which is a thing of servers", () => {
    const { options } = readRedisUrl("redis+sentinel://ada:secret@a/main");
    expect(options).toMatchObject({ username: "ada", password: "secret", sentinelPassword: "secret" });
    expect(options).not.toHaveProperty("sentinelUsername");
  });

  test("speak TLS where the scheme says so, and so does the master", () => {
    expect(readRedisUrl("rediss+sentinel://a/main").options).toMatchObject({
      tls: {},
      sentinelTLS: {},
      enableTLSForSentinelMode: true,
    });
  });
});

test("a cluster is any of its nodes", () => {
  expect(readRedisUrl("rediss+cluster://:secret@a,b:7000/")).toEqual({
    kind: "cluster",
    nodes: [
      { host: "a", port: 6_379 },
      { host: "b", port: 7_000 },
    ],
    options: { password: "secret", tls: {} },
  });
});

describe("what is refused", () => {
  test.each([
    ["", "is not redis://"],
    ["cache:6379", "is not redis://"],
    ["http://cache", "is not redis://"],
    ["redis:cache", "is not redis://"],
    ["redis://", "is not redis://"],
    ["redis:///0", "is not redis://"],
    ["redis+tls://cache", "is not redis://"],
    ["redis://cache?db=1", "is not redis://"],
    ["redis://cache#1", "is not redis://"],
    ["redis://a@b@cache", "is not redis://"],
    ["redis://:6379", "an invalid host"],
    ["redis://cache:0", "an invalid host"],
    ["redis://cache:65536", "an invalid host"],
    ["redis://cache:port", "an invalid host"],
    ["redis://::1", "an invalid host"],
    ["redis://[::1", "an invalid host"],
    ["redis://[1:2]", "an invalid host"],
    ["redis://two words", "an invalid host"],
    ["redis://a,b", "several hosts"],
    ["redis+cluster://a,,b", "an invalid host"],
    ["redis://cache/x", "a database that is not a number"],
    ["redis://cache/0/1", "a database that is not a number"],
    ["redis://cache/-1", "a database that is not a number"],
    ["redis+sentinel://a", "which master"],
    ["redis+sentinel://a/", "which master"],
    ["redis+sentinel://a/main/0/1", "which master"],
    ["redis+sentinel://a/main/x", "a database that is not a number"],
    ["redis+cluster://a/1", "a cluster has only one"],
    ["redis://:%zz@cache", "an invalid % escape"],
    ["redis+sentinel://a/%ff", "an invalid % escape"],
    [`redis+cluster://${Array.from({ length: 65 }, () => "a").join()}`, "more than 64 hosts"],
  ])("%j", (url, why) => {
    expect(() => readRedisUrl(url)).toThrow(TypeError);
    expect(() => readRedisUrl(url)).toThrow(why);
  });
});

const words = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/);
const ports = fc.integer({ min: 1, max: 65_535 });
const secrets = fc.string({ minLength: 1, unit: "binary" });

test("any user and any password arrive as they were, where they are percent-encoded", () => {
  fc.assert(
    fc.property(secrets, secrets, words, ports, (username, password, host, port) => {
      const url = `redis://${encodeURIComponent(username)}:${encodeURIComponent(password)}@${host}:${port}/7`;
      expect(readRedisUrl(url).options).toEqual({ username, password, host, port, db: 7 });
    }),
  );
});

test("the hosts of a cluster stay in their order", () => {
  const nodes = fc.array(fc.record({ host: fc.oneof(words, fc.ipV6()), port: ports }), { minLength: 1, maxLength: 64 });
  fc.assert(
    fc.property(nodes, (given) => {
      const hosts = given.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`);
      expect(readRedisUrl(`redis+cluster://${hosts.join()}`)).toMatchObject({ kind: "cluster", nodes: given });
    }),
  );
});

test("whatever is given, an answer or a TypeError comes back, and no message shows the password", () => {
  const SECRET = "hunter2-is-secret";
  const schemes = fc.constantFrom("redis", "rediss", "redis+sentinel", "redis+cluster", "http", "");
  const around = fc.string({ maxLength: 12, unit: "binary" });
  fc.assert(
    fc.property(schemes, around, around, around, (scheme, user, before, after) => {
      try {
        readRedisUrl(`${scheme}://${user}:${before}${SECRET}@${after}`);
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        expect(String(error)).not.toContain(SECRET);
      }
    }),
  );
});
