import { expect, test } from "vitest";
import { inIsolate } from "./in-isolate.ts";

test("the globals have the names and lengths that the standards give them", async () => {
  const names = await inIsolate(`
    const names = ["DOMException", "Event", "CustomEvent", "EventTarget", "AbortController", "AbortSignal", "TextEncoder",
      "TextDecoder", "atob", "btoa", "URL", "URLSearchParams", "structuredClone", "Crypto", "SubtleCrypto"];
    return names.map((name) => [globalThis[name].name, globalThis[name].length]);
  `);
  expect(names).toEqual([
    ["DOMException", 0],
    ["Event", 1],
    ["CustomEvent", 1],
    ["EventTarget", 0],
    ["AbortController", 0],
    ["AbortSignal", 0],
    ["TextEncoder", 0],
    ["TextDecoder", 0],
    ["atob", 1],
    ["btoa", 1],
    ["URL", 1],
    ["URLSearchParams", 0],
    ["structuredClone", 1],
    ["Crypto", 0],
    ["SubtleCrypto", 0],
  ]);
});

test("classes called without new throw a TypeError", async () => {
  const thrown = await inIsolate(`
    return [URL, Event, TextDecoder, AbortController].map((Class) => {
      try { Class("x"); } catch (error) { return error instanceof TypeError; }
    });
  `);
  expect(thrown).toEqual([true, true, true, true]);
});

test("instances print as the interface they are of", async () => {
  const tags = await inIsolate(`
    const values = [new URL("a:b"), new URLSearchParams(), new URLSearchParams().keys(), new Event("e"),
      new CustomEvent("e"), new EventTarget(), new AbortController(), AbortSignal.abort(), new TextEncoder(),
      new TextDecoder(), new DOMException(), crypto, crypto.subtle];
    return values.map((value) => Object.prototype.toString.call(value).slice(8, -1));
  `);
  expect(tags).toEqual([
    "URL",
    "URLSearchParams",
    "URLSearchParams Iterator",
    "Event",
    "CustomEvent",
    "EventTarget",
    "AbortController",
    "AbortSignal",
    "TextEncoder",
    "TextDecoder",
    "DOMException",
    "Crypto",
    "SubtleCrypto",
  ]);
});

test("nothing that callers reach through the globals stays open once the realm is frozen", async () => {
  const open = await inIsolate(
    `
    const found = [];
    const seen = new Set();
    const visit = (value, path) => {
      if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) return;
      seen.add(value);
      if (!Object.isFrozen(value)) found.push(path);
      visit(Object.getPrototypeOf(value), path + ".__proto__");
      for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
        visit(property.value, path + "." + key);
        visit(property.get, path + ".get " + key);
        visit(property.set, path + ".set " + key);
      }
    };
    const prototypeOf = (value) => Object.getPrototypeOf(value);
    const url = new URL("https://example.org/?a=1");
    visit(crypto.subtle, "subtle");
    visit(crypto, "crypto");
    visit(prototypeOf(url), "URL");
    visit(prototypeOf(url.searchParams), "URLSearchParams");
    visit(prototypeOf(url.searchParams.entries()), "iterator");
    visit(prototypeOf(url.searchParams[Symbol.iterator]()), "iterator");
    visit(prototypeOf(new AbortController().signal), "AbortSignal");
    visit(prototypeOf(new DOMException()), "DOMException");
    visit(prototypeOf(new TextEncoder().encode("a")), "Uint8Array");
    visit(prototypeOf(crypto.subtle.digest("SHA-1", new Uint8Array())), "Promise");
    visit(prototypeOf(new CustomEvent("a")), "CustomEvent");
    return found;
  `,
    { frozen: true },
  );
  expect(open).toEqual([]);
});

test("every class works in a realm in which all intrinsics and globals are frozen", async () => {
  const result = await inIsolate(
    `
    const url = new URL("/p?a=1", "https://user@example.org:8080");
    url.searchParams.append("b", "ü €");
    url.hash = "end";
    const target = new EventTarget();
    const heard = [];
    target.addEventListener("ping", (event) => heard.push(event.detail), { once: true });
    target.dispatchEvent(new CustomEvent("ping", { detail: 1 }));
    target.dispatchEvent(new CustomEvent("ping", { detail: 2 }));
    const controller = new AbortController();
    const either = AbortSignal.any([controller.signal]);
    either.onabort = () => heard.push("aborted");
    controller.abort();
    const late = AbortSignal.timeout(5);
    timers[0].callback();
    const source = { when: new Date(5), map: new Map([["k", /x/g]]), bytes: new Uint8Array([1, 2]), toString: 1,
      error: new RangeError("far", { cause: "c" }) };
    source.self = source;
    const copy = structuredClone(source);
    const hash = await crypto.subtle.digest({ name: "sha-256" }, new TextEncoder().encode("abc"));
    console.log("%s and %o", "text", copy, new Error("shown").message);
    class Mine extends Error { name = "Mine" }
    console.error(new Mine("own"));
    console.table([{ a: 1 }]);
    console.group("g");
    console.count();
    console.time();
    console.timeEnd();
    return {
      href: url.href,
      entries: [...url.searchParams.entries()],
      keys: url.searchParams.keys().toArray(),
      heard,
      reasons: [either.reason.name, late.reason.name, late.reason.message, late.reason instanceof Error],
      copy: [copy.when.getTime(), copy.map.get("k").flags, [...copy.bytes], copy.toString, copy.self === copy,
        copy.error.name, copy.error.cause],
      hash: Array.from(new Uint8Array(hash).slice(0, 4)),
      uuid: crypto.randomUUID(),
      text: new TextDecoder("utf-8").decode(new Uint8Array([0xe2, 0x82, 0xac, 0xff])),
      utf16: new TextDecoder("utf-16le").decode(new Uint8Array([0x3d, 0xd8, 0x00, 0xde])),
      base64: [btoa("hello"), atob("aGVsbG8")],
      messages: messages.map(([level, message]) => level + " " + message.split("\\n")[0]),
    };
  `,
    { frozen: true },
  );
  expect(result).toEqual({
    href: "https://user@example.org:8080/p?a=1&b=%C3%BC+%E2%82%AC#end",
    entries: [
      ["a", "1"],
      ["b", "ü €"],
    ],
    keys: ["a", "b"],
    heard: [1, "aborted"],
    reasons: ["AbortError", "TimeoutError", "The operation was aborted due to timeout", true],
    copy: [5, "g", [1, 2], 1, true, "RangeError", "c"],
    hash: [0xba, 0x78, 0x16, 0xbf],
    uuid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
    text: "€\ufffd",
    utf16: "😀",
    base64: ["aGVsbG8=", "hello"],
    messages: [
      expect.stringMatching(/^log text and <ref \*1> \{$/),
      expect.stringMatching(/^error Mine/),
      "log ┌─────────┬───┐",
      "log g",
      "log   default: 1",
      "log   default: 0ms",
    ],
  });
});
