import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fetchGrants } from "../../../../../src/kernel/broker/capabilities/fetch/grants.ts";
import {
  coversPattern,
  matchesUrl,
  meetPatterns,
  type OriginPattern,
  readOriginPattern,
} from "../../../../../src/kernel/broker/capabilities/fetch/origin-pattern.ts";

function pattern(text: string): OriginPattern {
  const read = readOriginPattern(text);
  if (read === null) throw new Error(`${text} is no pattern`);
  return read;
}

describe("a pattern of origins", () => {
  test.each([
    ["https://api.example.com", "https://api.example.com/a?b", true],
    ["https://api.example.com", "https://API.EXAMPLE.COM:443/", true],
    ["HTTPS://API.example.com:443/", "https://api.example.com/", true],
    ["https://api.example.com", "http://api.example.com/", false],
    ["https://api.example.com", "https://api.example.com:8443/", false],
    ["https://api.example.com", "https://x.api.example.com/", false],
    ["https://api.example.com", "https://api.example.com.evil.example/", false],
    ["https://api.example.com", "https://api.example.com./", false],
    ["https://*.example.com", "https://a.example.com/", true],
    ["https://*.example.com", "https://a.b.example.com/", true],
    ["https://*.example.com", "https://example.com/", false],
    ["https://*.example.com", "https://badexample.com/", false],
    ["https://*.example.com", "https://a.example.com:8443/", false],
    ["https://*.example.com:8443", "https://a.example.com:8443/", true],
    ["https://bücher.example", "https://xn--bcher-kva.example/", true],
    ["http://[::1]:8080", "http://[0:0::1]:8080/", true],
    ["http://127.1", "http://127.0.0.1/", true],
    ["*", "http://anything.example:81/x", true],
    ["*", "http://anything.example:25/x", false],
    ["http://anything.example:25", "http://anything.example:25/x", true],
    ["https://a.example/v1", "https://a.example/v1", true],
    ["https://a.example/v1", "https://a.example/v1/x", true],
    ["https://a.example/v1", "https://a.example/v1x", false],
    ["https://a.example/v1/", "https://a.example/v1", false],
    ["https://a.example/v1/", "https://a.example/v1/", true],
    ["https://a.example/v1/", "https://a.example//v1/", false],
    ["https://a.example/v1/", "https://a.example/v1/../x", false],
    ["https://a.example/v1/", "https://a.example/v1/%2e%2E/x", false],
    ["https://a.example/v1/", "https://a.example/v1/..%2fx", false],
    ["https://a.example/v1/", "https://a.example/v1/..%5Cx", false],
    ["https://a.example/v1/", "https://a.example/v1/%252e%252e%252fx", false],
    ["https://a.example/v1/", "https://a.example/v1/%25252e%25252e/x", false],
    ["https://a.example/v1/", "https://a.example/v1/..;a=b/x", false],
    ["https://a.example/v1/", "https://a.example/v1/..%00/x", false],
    ["https://a.example/v1/", "https://a.example/%76%31/x", false],
    ["https://a.example/v1/", "https://a.example/v1%2fx", false],
    ["https://a.example/v1/", "https://a.example/v1/a%2fb/..c/d..", true],
    ["https://a.example", "https://a.example/x/..%2f..", true],
  ])("%s and the URL %s: %s", (text, url, isMatch) => {
    expect(matchesUrl(pattern(text), new URL(url))).toBe(isMatch);
  });

  test.each([
    "",
    "example.com",
    "ftp://example.com",
    "https://",
    "https://*",
    "https://*.",
    "https://a.*.example.com",
    "https://**.example.com",
    "https://*.127.0.0.1",
    "https://*.[::1]",
    "https://user@example.com",
    "https://user:password@example.com",
    "https://example.com?query",
    "https://example.com/#hash",
    "https://example.com/*",
    "https://example.com/a/../b",
    "https://example.com/..%2fb",
    "https://exa mple.com",
    "https://example.com:99999",
    " https://example.com",
    `https://example.com/${"a".repeat(3_000)}`,
    null,
    7,
    {},
  ])("is not %j", (text) => {
    expect(readOriginPattern(text)).toBeNull();
  });

  const some = fc
    .record({
      scheme: fc.constantFrom("http", "https"),
      star: fc.constantFrom("", "*."),
      host: fc.constantFrom("a.example", "b.a.example", "c.b.a.example", "ba.example"),
      port: fc.constantFrom("", ":8443", ":25"),
      path: fc.constantFrom("", "/v1", "/v1/", "/v1/x", "/v1x"),
    })
    .map(({ scheme, star, host, port, path }) => `${scheme}://${star}${host}${port}${path}`);
  const patterns = fc.oneof({ weight: 9, arbitrary: some }, fc.constant("*")).map(pattern);
  const urls = some.map((text) => new URL(text.replace("*", "d")));

  test("meets another one in exactly the URLs that both mean, whichever comes first", () => {
    fc.assert(
      fc.property(patterns, patterns, urls, (one, other, url) => {
        const both = meetPatterns(one, other);
        expect(both !== null && matchesUrl(both, url)).toBe(matchesUrl(one, url) && matchesUrl(other, url));
        expect(meetPatterns(other, one)?.text).toBe(both?.text);
      }),
      { numRuns: 5_000 },
    );
  });

  test("covers another one only where it means all of its URLs", () => {
    fc.assert(
      fc.property(patterns, patterns, urls, (one, other, url) => {
        if (coversPattern(one, other) && matchesUrl(other, url)) expect(matchesUrl(one, url)).toBe(true);
        expect(coversPattern(one, one)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("what is written of fetch", () => {
  test.each([
    [null, ": is an object"],
    [true, ": is an object"],
    [["https://a.example"], ": is an object"],
    [{}, '/origins: is missing; it is a list of at most 1000 origins, such as \\["https://api.example.com"\\]$'],
    [{ origins: "https://a.example" }, "/origins: is a list"],
    [{ origins: ["https://a.example", "a.example"] }, "/origins/1: is an origin such as"],
    [{ origins: [], methods: "GET" }, "/methods: is a list"],
    [{ origins: [], methods: ["GET", "CONNECT"] }, "/methods/1: is a method of HTTP"],
    [{ origins: [], methods: ["G T"] }, "/methods/0: is a method of HTTP"],
    [{ origins: [], maxBytes: 0 }, "/maxBytes: is a whole number above 0"],
    [{ origins: [], maxBytes: 1.5 }, "/maxBytes: is a whole number above 0"],
    [{ origins: [], maxRequests: "1" }, "/maxRequests: is a whole number above 0"],
    [{ origins: [], maxRequests: Number.POSITIVE_INFINITY }, "/maxRequests: is a whole number above 0"],
    [{ origins: [], hosts: [] }, "/hosts: is not one of origins,"],
    [{ origins: [], privateOrigins: ["http://*.a.example"] }, "/privateOrigins/0: is one origin"],
    [{ origins: [], privateOrigins: ["http://a.example/v1"] }, "/privateOrigins/0: is one origin"],
    [{ origins: [], privateOrigins: ["*"] }, "/privateOrigins/0: is one origin"],
  ])("is refused where it is %j", (value, why) => {
    expect(() => fetchGrants.read(value, "policy")).toThrow(new RegExp(`^${why.replaceAll("/", "\\/")}`));
  });

  test("by a tool may not name private origins", () => {
    const value = { origins: ["*"], privateOrigins: ["http://127.0.0.1"] };
    expect(() => fetchGrants.read(value, "request")).toThrow("/privateOrigins: is allowed only in a policy rule");
  });

  test("means GET and HEAD by a tool that names no methods, and all of them by a rule", () => {
    const value = { origins: ["*"] };
    expect(fetchGrants.read(value, "request").methods).toEqual(["GET", "HEAD"]);
    expect(fetchGrants.read(value, "policy").methods).toBeNull();
    expect(fetchGrants.read({ ...value, methods: ["post", "*"] }, "request").methods).toBeNull();
  });
});

describe("what a tool asks for and a rule allows", () => {
  const asked = (value: object) => fetchGrants.read(value, "request");
  const allowed = (value: object) => fetchGrants.read(value, "policy");

  test("meet in the narrower of both", () => {
    const request = { origins: ["https://a.example", "https://*.b.example"], methods: ["GET", "PUT"], maxBytes: 10 };
    const rule = {
      origins: ["https://a.example/v1/", "https://c.b.example"],
      methods: ["PUT", "POST"],
      maxRequests: 3,
    };
    const both = fetchGrants.meet(asked(request), allowed(rule));
    expect(both).toMatchObject({ methods: ["PUT"], maxBytes: 10, maxRequests: 3 });
    expect(both?.origins.map(({ text }) => text)).toEqual(["https://a.example/v1/", "https://c.b.example"]);
  });

  test("are narrowed by a call in what it names, and in nothing else", () => {
    const granted = fetchGrants.meet(
      asked({ origins: ["https://*.b.example"], methods: ["PUT"] }),
      allowed({ origins: ["*"] }),
    );
    if (granted === null) throw new Error("nothing was granted");
    const narrowed = fetchGrants.meet(fetchGrants.read({ origins: ["https://c.b.example"] }, "narrowing"), granted);
    expect(narrowed).toEqual({ ...granted, origins: [expect.objectContaining({ text: "https://c.b.example" })] });
  });

  test("give nothing where they have no origin or no method in common", () => {
    const request = asked({ origins: ["https://a.example"] });
    expect(fetchGrants.meet(request, allowed({ origins: ["https://b.example"] }))).toBeNull();
    expect(fetchGrants.meet(request, allowed({ origins: ["*"], methods: ["POST"] }))).toBeNull();
    expect(fetchGrants.meet(request, allowed({ origins: [] }))).toBeNull();
  });

  test("keep the rule's private origins, which are allowed ones as well", () => {
    const both = fetchGrants.meet(
      asked({ origins: ["*"] }),
      allowed({ origins: [], privateOrigins: ["http://127.0.0.1:8080"] }),
    );
    expect(both?.origins.map(({ text }) => text)).toEqual(["http://127.0.0.1:8080"]);
    expect(both?.privateOrigins).toEqual(["http://127.0.0.1:8080"]);
  });

  test("are described in words that fit into a message, however many origins there are", () => {
    const origins = Array.from({ length: 1_000 }, (_, at) => `https://a${at}.example`);
    expect(fetchGrants.describe(asked({ origins }))).toMatch(
      /^GET, HEAD to https:\/\/a0\.example, .*and 980 more \(at most/,
    );
  });

  test("leave uncovered each origin and method that no rule gives, and each number beyond them", () => {
    const request = asked({
      origins: ["https://a.example", "https://b.example", "*"],
      methods: ["GET", "POST"],
      maxBytes: 10_000_000,
      maxRequests: 5,
    });
    const rules = [
      allowed({ origins: ["https://a.example"], methods: ["GET"] }),
      allowed({ origins: ["https://*.b.example"] }),
    ];
    expect(fetchGrants.uncovered(request, rules)).toEqual([
      { pointer: "/methods/1", asked: "POST to https://a.example" },
      { pointer: "/origins/1", asked: "GET, POST to https://b.example" },
      { pointer: "/origins/2", asked: "GET, POST to *" },
      { pointer: "/maxBytes", asked: "maxBytes of 10000000" },
    ]);
    expect(fetchGrants.uncovered(asked({ origins: ["https://a.example"] }), [allowed({ origins: ["*"] })])).toEqual([]);
  });
});
