import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { guardLookup, isPublicAddress } from "../../../../../src/kernel/broker/capabilities/fetch/connections.ts";
import { serve } from "./server.ts";
import { Session } from "./session.ts";

/** Ways to write an address that is not the open internet's into a URL. */
const LITERALS = [
  // Loopback, as the parser of URLs reads numbers.
  "http://127.0.0.1/",
  "http://127.1/",
  "http://127.0.1/",
  "http://127.255.255.254/",
  "http://2130706433/",
  "http://0x7f000001/",
  "http://0X7F000001/",
  "http://017700000001/",
  "http://0x7f.0.0.1/",
  "http://0177.0.0.1/",
  "http://0177.0x0.0.01/",
  "http://0x7f.1/",
  "http://127.0x000001/",
  "http://00000177.0.0.1/",
  "http://127.0.0.1./",
  "http://127.0.0.1:80/",
  "https://127.0.0.1/",
  "HTTP://127.0.0.1/",
  "http:127.0.0.1/",
  "http:/127.0.0.1/",
  "http:\\\\127.0.0.1\\",
  "http:////127.0.0.1/",
  " http://127.0.0.1/ ",
  "http://127.0.\t0.1/",
  "http://127.0\n.0.1/",
  "http://%31%32%37.0.0.1/",
  "http://127%2e0%2e0%2e1/",
  "http://%6c%6f%63alhost/",
  // Digits and dots of other scripts.
  "http://127。0。0。1/",
  "http://127．0．0．1/",
  "http://127｡0｡0｡1/",
  "http://①②⑦.⓪.⓪.①/",
  "http://１２７.０.０.１/",
  "http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/",
  "http://0𝗑7f000001/",
  "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
  "http://loc\u00adalhost/",
  // Where there is no host, or any.
  "http://0/",
  "http://0.0.0.0/",
  "http://0x0/",
  "http://00000000000/",
  "http://0.1.2.3/",
  // Private, shared and link-local networks.
  "http://10.0.0.1/",
  "http://10.255.255.255/",
  "http://167772161/",
  "http://012.1/",
  "http://172.16.0.1/",
  "http://172.31.255.255/",
  "http://0xac100001/",
  "http://192.168.0.1/",
  "http://192.168.257/",
  "http://3232235521/",
  "http://100.64.0.1/",
  "http://100.127.255.255/",
  "http://169.254.0.1/",
  // Metadata of clouds.
  "http://169.254.169.254/latest/meta-data/",
  "http://2852039166/",
  "http://0xa9fea9fe/",
  "http://0251.0376.0251.0376/",
  "http://169.254.43518/",
  "http://169.254.170.2/v2/credentials",
  "http://168.63.129.16/",
  "http://100.100.100.200/latest/meta-data/",
  "http://192.0.0.192/",
  "http://[fd00:ec2::254]/",
  "http://[fd20:ce::254]/",
  // Groups, everybody, examples, benchmarks, what is reserved.
  "http://224.0.0.1/",
  "http://239.255.255.250/",
  "http://255.255.255.255/",
  "http://4294967295/",
  "http://240.0.0.1/",
  "http://192.0.2.1/",
  "http://198.51.100.1/",
  "http://203.0.113.1/",
  "http://198.18.0.1/",
  "http://198.19.255.255/",
  "http://192.0.0.1/",
  "http://192.88.99.1/",
  // The same for IPv6.
  "http://[::1]/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[0000:0000:0000:0000:0000:0000:0000:0001]/",
  "http://[::]/",
  "http://[::0.0.0.1]/",
  "http://[fe80::1]/",
  "http://[febf::1]/",
  "http://[fec0::1]/",
  "http://[fc00::1]/",
  "http://[fdff:ffff::1]/",
  "http://[ff02::1]/",
  "http://[ff0e::1]/",
  "http://[100::1]/",
  "http://[2001:db8::1]/",
  "http://[3fff::1]/",
  "http://[5f00::1]/",
  "http://[2001:2::1]/",
  "http://[2001:10::1]/",
  // Addresses of IPv4 inside.
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[0:0:0:0:0:FFFF:7F00:0001]/",
  "http://[::ffff:169.254.169.254]/",
  "http://[::ffff:10.0.0.1]/",
  "http://[::127.0.0.1]/",
  "http://[::7f00:1]/",
  "http://[::ffff:0:127.0.0.1]/",
  "http://[64:ff9b::127.0.0.1]/",
  "http://[64:ff9b::a9fe:a9fe]/",
  "http://[64:ff9b:1::10.0.0.1]/",
  "http://[2002:7f00:1::]/",
  "http://[2002:a9fe:a9fe::]/",
  "http://[2002:c0a8:1::1]/",
  "http://[2001:0:7f00:1::]/",
  "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
  "http://[2a00:1450:4001::5efe:10.0.0.1]/",
  "http://[2a00:1450:4001::200:5efe:127.0.0.1]/",
];

/** Names that somebody's resolver gives such addresses. */
const NAMES = [
  "http://localhost/",
  "http://LOCALHOST/",
  "http://localhost./",
  "http://a.localhost/",
  "http://localhost.localdomain/",
  "http://ip6-localhost/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "http://metadata/",
  "http://instance-data/",
  "http://kubernetes.default.svc/",
  "http://host.docker.internal/",
  "http://router.local/",
  "http://127.0.0.1.nip.io/",
  "http://xn--lcalhost-9qe/",
  "http://1.1.1.1.example/",
];

describe("with every origin granted, a request", () => {
  test.each([...LITERALS, ...NAMES])("to %j is refused", async (url) => {
    const resolved = ["127.0.0.1", "::1", "10.0.0.7", "169.254.169.254", "::ffff:127.0.0.1"];
    await using session = new Session({ rules: [{ origins: ["*"] }], lookup: async () => resolved });
    await expect(session.request(url)).rejects.toMatchObject({
      name: "CapabilityRefusal",
      outcome: "denied",
      message: expect.stringContaining("resolves to an address that is not public"),
    });
  });

  test("is refused in words that hold no address that a name stands for", async () => {
    await using session = new Session({ rules: [{ origins: ["*"] }], lookup: async () => ["10.11.12.13"] });
    const error: unknown = await session.request("http://db.internal:5432/").catch((reason: unknown) => reason);
    expect(JSON.stringify([String(error), error])).not.toContain("10.11.12.13");
    expect(error).toMatchObject({
      refused: {
        asked: "GET http://db.internal:5432/",
        remedy: expect.stringContaining('"http://db.internal:5432" to allow.fetch.privateOrigins'),
      },
    });
  });

  test.each([
    "http://127.0.0.1@8.8.8.8/",
    "http://8.8.8.8@127.0.0.1/",
    "http://a:b@localhost/",
    "http://@:x@127.0.0.1/",
  ])("to %j is not sent, because it names a user", async (url) => {
    await using session = new Session({ rules: [{ origins: ["*"] }] });
    await expect(session.request(url)).rejects.toThrow("must not contain a user name or password");
  });

  test("to a name that was public when somebody looked, and is private when it is connected to, reaches nobody", async () => {
    await using server = await serve((_request, response) => response.end("reached"));
    let asked = 0;
    const lookup = async () => [asked++ === 0 ? "8.8.8.8" : "127.0.0.1"];
    await using session = new Session({ rules: [{ origins: ["*"] }], lookup });
    expect((await lookup()).every(isPublicAddress)).toBe(true);
    const url = `http://rebinding.example:${server.port}/`;
    await expect(session.request(url)).rejects.toMatchObject({ outcome: "denied" });
    expect(asked).toBe(2);
    expect(server.connections()).toBe(0);
  });

  test("to a private origin that is granted uses no connection of one that may not, nor the other way round", async () => {
    await using server = await serve((_request, response) => response.end("reached"));
    const lookup = async () => ["127.0.0.1"];
    const origin = `http://db.internal:${server.port}`;
    await using session = new Session({ rules: [{ privateOrigins: [origin] }, { origins: ["*"] }], lookup });
    expect((await session.whole(origin)).text).toBe("reached");
    await expect(session.request(`http://other.internal:${server.port}`)).rejects.toMatchObject({ outcome: "denied" });
    await expect(session.request(server.origin)).rejects.toMatchObject({ outcome: "denied" });
    await expect(session.request(origin.replace("http:", "https:"))).rejects.toMatchObject({ outcome: "denied" });
    expect(server.seen).toHaveLength(1);
  });
});

describe("the lookup of a connection", () => {
  const resolving = (addresses: readonly string[], all: boolean) =>
    new Promise<{ readonly error: Error | null; readonly found: unknown }>((resolve) => {
      guardLookup(async () => addresses, isPublicAddress)("name.example", { all }, (error, found) => {
        resolve({ error, found });
      });
    });

  test("gives the public addresses of a name that has private ones as well", async () => {
    const addresses = ["127.0.0.1", "8.8.8.8", "::1", "2606:4700::1111", "10.0.0.1", "1.1.1.1"];
    expect(await resolving(addresses, true)).toEqual({
      error: null,
      found: [
        { address: "8.8.8.8", family: 4 },
        { address: "2606:4700::1111", family: 6 },
        { address: "1.1.1.1", family: 4 },
      ],
    });
    expect(await resolving(addresses, false)).toEqual({ error: null, found: "8.8.8.8" });
  });

  test.each([[["127.0.0.1"]], [["not an address"]], [["fe80::1%eth0"]], [[]]])(
    "gives nothing of %j",
    async (addresses) => {
      expect(await resolving(addresses, true)).toMatchObject({ error: expect.any(Error), found: "" });
    },
  );
});

describe("an address", () => {
  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
  ])("of the open internet is public: %s", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    "",
    "localhost",
    "127.1",
    "0x7f.1",
    "8.8.8",
    "08.8.8.8",
    "8.8.8.8 ",
    "::1%lo",
    "2606:4700::1%eth0",
    "[::1]",
  ])("that is invalid is not public: %j", (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });
});

/** Networks that are nobody's to reach, as first address and length of the prefix. */
const NETWORKS = [
  [0x00000000, 8],
  [0x0a000000, 8],
  [0x64400000, 10],
  [0x7f000000, 8],
  [0xa9fe0000, 16],
  [0xac100000, 12],
  [0xc0000000, 24],
  [0xc0000200, 24],
  [0xc0a80000, 16],
  [0xc6120000, 15],
  [0xc6336400, 24],
  [0xcb007100, 24],
  [0xe0000000, 4],
  [0xf0000000, 4],
] as const;

const privateNumber = fc
  .tuple(fc.constantFrom(...NETWORKS), fc.nat(0xffff_ffff))
  .map(([[first, length], random]) => first + (random % 2 ** (32 - length)));

/** A number of an address in one of the bases that URLs know. */
function written(value: number, base: number, zeros: number): string {
  const padding = "0".repeat(zeros);
  if (base === 8) return `0${padding}${value.toString(8)}`;
  return base === 16 ? `0x${padding}${value.toString(16)}` : String(value);
}

test("an address of a private network is refused in whatever notation a URL may have it", async () => {
  await using session = new Session({ rules: [{ origins: ["*"], maxRequests: 100_000 }] });
  const notation = fc.tuple(
    privateNumber,
    fc.integer({ min: 1, max: 4 }),
    fc.array(fc.tuple(fc.constantFrom(8, 10, 16), fc.nat(2)), { minLength: 4, maxLength: 4 }),
    fc.boolean(),
  );
  await fc.assert(
    fc.asyncProperty(notation, async ([number, count, styles, hasDot]) => {
      const numbers: number[] = [];
      let rest = number;
      for (let at = 0; at < count - 1; at++) {
        const unit = 2 ** (24 - 8 * at);
        numbers.push(Math.floor(rest / unit));
        rest %= unit;
      }
      const parts = [...numbers, rest].map((value, at) => written(value, ...(styles[at] ?? ([10, 0] as const))));
      const url = `http://${parts.join(".")}${hasDot ? "." : ""}:8080/`;
      await expect(session.request(url), url).rejects.toMatchObject({ outcome: "denied" });
    }),
    { numRuns: 500 },
  );
});

test("an address of IPv6 that holds one of a private network is not public", () => {
  const hex = (value: number) => `${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
  const holders = [
    (value: number) => `::ffff:${hex(value)}`,
    (value: number) => `::${hex(value)}`,
    (value: number) => `64:ff9b::${hex(value)}`,
    (value: number) => `64:ff9b:1::${hex(value)}`,
    (value: number) => `2002:${hex(value)}::1`,
    (value: number) => `2001:0:${hex(value)}::1`,
    (value: number) => `2001:db8::${hex(value)}`,
    (value: number) => `2a00:1450:1:1:0:5efe:${hex(value)}`,
  ];
  fc.assert(fc.property(privateNumber, fc.constantFrom(...holders), (value, hold) => !isPublicAddress(hold(value))));
});
