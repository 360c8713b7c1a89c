import fc from "fast-check";
import { expect, test } from "vitest";
import { createUrlClasses } from "../../../../src/kernel/guest/web/url.ts";
import { inIsolate, parseUrl, updateUrl } from "./in-isolate.ts";

let calls: string[] = [];
const { URL: Ours } = createUrlClasses(
  (href, base) => {
    calls.push("parse");
    return parseUrl(href, base);
  },
  (href, part, value) => {
    calls.push(part);
    return updateUrl(href, part, value);
  },
);

const PARTS = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"] as const;

function dump(url: InstanceType<typeof Ours> | URL): unknown {
  return [
    url.href,
    url.origin,
    url.toString(),
    JSON.stringify(url),
    ...PARTS.map((part) => url[part]),
    [...url.searchParams],
  ];
}

test("it reads URLs like Node", () => {
  for (const [href, base] of [
    ["https://user:pass@example.org:8080/a/b?c=d&e=f#g"],
    ["../x?y", "https://example.org/a/b/c"],
    ["mailto:a@b"],
    ["HTTP://EXAMPLE.org:80"],
    ["file:///C|/x"],
    ["https://bücher.example/ü?ü#ü"],
    ["?q", new URL("https://example.org/p")],
    ["\ud800", "https://example.org"],
  ] as [string, string?][]) {
    const ours = base === undefined ? new Ours(href) : new Ours(href, base);
    expect(dump(ours)).toEqual(dump(base === undefined ? new URL(href) : new URL(href, base)));
    expect(Ours.canParse(href, base)).toBe(true);
    expect(Ours.parse(href, base)?.href).toBe(ours.href);
  }
});

test("what is no URL is a TypeError, null, or false", () => {
  for (const [href, base] of [["nope"], ["http://a:b"], ["/x", ""], ["/x", "\0"], ["/x", "nope"], [""]] as [
    string,
    string?,
  ][]) {
    expect(() => new Ours(href, base)).toThrow(new TypeError("Invalid URL"));
    expect([Ours.canParse(href, base), Ours.parse(href, base)]).toEqual([false, null]);
  }
  for (const call of [
    () => Reflect.construct(Ours, []),
    () => Reflect.apply(Reflect.get(Ours, "canParse"), Ours, []),
  ]) {
    expect(call).toThrow(TypeError);
  }
  expect(() => new Ours(Symbol("s") as never)).toThrow(TypeError);
});

const value = fc.oneof(
  fc.constantFrom("https", "ftp:", "8080", "", "example.com:9", "/p q", "?a=b&c", "#frag", "x@y", "é", "99999", "a=1"),
  fc.string({ maxLength: 8 }),
);
const step = fc.oneof(
  fc.record({ part: fc.constantFrom(...PARTS), value }),
  fc.record({ part: fc.constantFrom("append", "delete", "set", "sort"), value }),
);

test("any series of changes to parts and parameters ends like Node's", () => {
  const start = fc.constantFrom("https://u:p@example.org:81/a?x=1&y=2#h", "mailto:a?b", "file:///x", "http://h");
  fc.assert(
    fc.property(start, fc.array(step, { maxLength: 8 }), (href, steps) => {
      const run = (url: InstanceType<typeof Ours> | URL): unknown => {
        const { searchParams } = url;
        for (const { part, value: given } of steps) {
          if (part === "append" || part === "set") searchParams[part](given, "v");
          else if (part === "delete") searchParams.delete(given);
          else if (part === "sort") searchParams.sort();
          else Reflect.set(url, part, given);
        }
        return [dump(url), searchParams === url.searchParams];
      };
      expect(run(new Ours(href))).toEqual(run(new URL(href)));
    }),
    { numRuns: 500 },
  );
});

test("setting href replaces everything, and an invalid one changes nothing", () => {
  const url = new Ours("https://a/?x=1");
  const { searchParams } = url;
  searchParams.append("lost", "1");
  url.href = "https://b/?y=2";
  expect([url.href, [...searchParams]]).toEqual(["https://b/?y=2", [["y", "2"]]]);
  expect(() => {
    url.href = "nope";
  }).toThrow(TypeError);
  expect(url.href).toBe("https://b/?y=2");
});

test("origin and searchParams are read-only", () => {
  const url = new Ours("https://a/");
  expect(Reflect.set(url, "origin", "x")).toBe(false);
  expect(Reflect.set(url, "searchParams", "x")).toBe(false);
});

test("many changes to the parameters ask the host once", () => {
  const url = new Ours("https://a/");
  calls = [];
  for (let index = 0; index < 100; index += 1) url.searchParams.append("k", `${index}`);
  expect(calls).toEqual([]);
  expect(url.search.length).toBe(1 + 100 * 2 + 190 + 99);
  expect(url.href.length).toBeGreaterThan(400);
  expect(calls).toEqual(["search"]);
});

test("more than 2 MiB of characters never reach the host", () => {
  const url = new Ours("https://a/");
  const long = "x".repeat(2 * 1024 * 1024);
  calls = [];
  expect(() => new Ours(`https://a/${long}`)).toThrow(TypeError);
  expect(() => new Ours("x", `https://a/${long}`)).toThrow(TypeError);
  expect(() => {
    url.hash = long;
  }).toThrow(TypeError);
  expect([Ours.canParse(`https://a/${long}`), Ours.parse(`https://a/${long}`)]).toEqual([false, null]);
  expect(calls).toEqual([]);
});

test("its properties are those of Node's class, with the names of accessors", () => {
  const ours = Object.getOwnPropertyNames(Ours.prototype).toSorted();
  expect(ours).toEqual(Object.getOwnPropertyNames(URL.prototype).toSorted());
  const href = Object.getOwnPropertyDescriptor(Ours.prototype, "href");
  expect([href?.get?.name, href?.set?.name, href?.enumerable]).toEqual(["get href", "set href", true]);
  expect(() => href?.get?.call({})).toThrow(TypeError);
});

test("it works over a host in an isolate", async () => {
  const result = await inIsolate(
    `const url = new URL("b?c", "https://example.org/a");
    url.port = "81";
    url.searchParams.set("d", "e");
    class Mine extends URL {}
    return [url.href, url, new Mine("a:b").href, URL.canParse("x"), URL.parse("/y", url).href];`,
    { frozen: true },
  );
  expect(result).toEqual([
    "https://example.org:81/b?c=&d=e",
    "https://example.org:81/b?c=&d=e",
    "a:b",
    false,
    "https://example.org:81/y",
  ]);
});

test("a URL that may be invalid is parsed once", () => {
  calls = [];
  expect(Ours.parse("a", "https://a.example/b/")?.href).toBe("https://a.example/b/a");
  expect(Ours.parse("a")).toBeNull();
  expect(calls).toEqual(["parse", "parse"]);
});

test("the static methods of interfaces are enumerable", () => {
  expect(Object.keys(Ours).sort()).toEqual(["canParse", "parse"]);
});
