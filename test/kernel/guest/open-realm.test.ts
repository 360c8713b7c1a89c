import { expect, test } from "vitest";
import { needOfOpenRealm } from "../../../src/kernel/executor/worker/open-realm.ts";
import { openRealm } from "./in-realm.ts";

/** Node 24's V8 has none. */
const HAS_TEMPORAL = "Temporal" in globalThis;

/** What a tool of an open realm does to its built-ins. */
const DEEDS = [
  ["deletes JSON", "delete globalThis.JSON;"],
  ["breaks JSON.stringify", "JSON.stringify = () => { throw 1; };"],
  ["deletes Reflect and Math", "delete globalThis.Reflect; delete globalThis.Math;"],
  ["deletes Promise", "delete globalThis.Promise;"],
  ["breaks Promise.resolve", "Object.defineProperty(Promise, 'resolve', { get() { throw 1; } });"],
  ["breaks then", "Promise.prototype.then = () => { throw 1; };"],
  ["breaks the species of promises", "Object.defineProperty(Promise, Symbol.species, { get() { throw 1; } });"],
  ["breaks the iterator of arrays", "Array.prototype[Symbol.iterator] = () => { throw 1; };"],
] as const;

test.each(DEEDS)("a call of a tool that %s ends as usual", async (_what, deed) => {
  using realm = await openRealm(`() => { ${deed} return [1]; }`, { hardened: false });
  expect(realm.call()).toEqual([1]);
});

test.each(DEEDS)("an asynchronous call of a tool that %s ends as usual", async (_what, deed) => {
  using realm = await openRealm(`async () => { ${deed} await 0; return [1]; }`, { hardened: false });
  expect(realm.call()).toEqual([1]);
});

test.each(DEEDS)("a call of a tool that %s and throws ends with its error", async (_what, deed) => {
  using realm = await openRealm(`() => { ${deed} throw new TypeError("of the tool"); }`, { hardened: false });
  expect(() => realm.call()).toThrow(/TypeError.*of the tool/);
});

/** The faces of capabilities chain promises, as the tool does. */
const CHAINS = /then|species/;

test.each(DEEDS.filter(([what]) => !CHAINS.test(what)))(
  "a tool that %s hears what the host answers",
  async (_what, deed) => {
    const host = (): { readonly value: unknown } => ({ value: 2 });
    const asks = `const asked = context.host.kv.get("x"); ${deed} return asked;`;
    using realm = await openRealm(`async (input, context) => { ${asks} }`, { hardened: false, host });
    expect(realm.call()).toBe(2);
  },
);

test("a Promise that a tool makes of queueMicrotask can take the place of the built-in one", async () => {
  const polyfill = `class Mine {
      static resolve() { return new Mine(); }
      then(run) { queueMicrotask(run); }
    }
    const done = Promise.withResolvers();
    globalThis.Promise = Mine;`;
  using realm = await openRealm(
    `() => { ${polyfill} Promise.resolve().then(() => done.resolve(3)); return done.promise; }`,
    {
      hardened: false,
    },
  );
  expect(realm.call()).toBe(3);
});

test.runIf(HAS_TEMPORAL)("Temporal is there for a tool that has replaced the iterator of arrays", async () => {
  const replaces = "Array.prototype[Symbol.iterator] = () => { throw 1; };";
  using realm = await openRealm(`() => { ${replaces} return Temporal.PlainDate.from("2026-01-02").day; }`, {
    hardened: false,
  });
  expect(realm.call()).toBe(2);
});

test("a built-in function that the engine replaces has its name, and cannot be constructed", async () => {
  const tool = `() => {
    const { prototype } = Intl.DateTimeFormat;
    const { get } = Object.getOwnPropertyDescriptor(prototype, "format");
    const isConstructor = (one) => { try { new one(); return true; } catch { return false; } };
    const instant = ${HAS_TEMPORAL} ? [Temporal.Now.instant] : [];
    return [Date.now, Math.random, ...instant, prototype.formatToParts, get].map((one) => [one.name, isConstructor(one)]);
  }`;
  using realm = await openRealm(tool, { hardened: false });
  const names = ["now", "random", ...(HAS_TEMPORAL ? ["instant"] : []), "formatToParts", "get format"];
  expect(realm.call()).toEqual(names.map((each) => [each, false]));
});

test("Node's globals are members of the global object, which otpauth knows by another name", async () => {
  const source = `() => {
    const globalScope = (() => globalThis)();
    const { length } = globalScope.Buffer.from(__node.require("os").EOL);
    globalScope.process = { version: "own" };
    return [length, globalScope.process.version, new Function("return typeof Buffer")()];
  }`;
  using realm = await openRealm(source, { hardened: false });
  expect(realm.call()).toEqual([1, "own", "function"]);
});

test.each([
  ['Object.defineProperty(Array.prototype, "last", {});', "the module adds Array.prototype.last to the built-ins"],
  ['Object.defineProperty(Array.prototype, "at", {});', undefined],
  ['Object.defineProperty(Object.prototype, "__GLOBALTHIS__", {});', undefined],
])("of %s a realm is open for the reason %s", (text, reason) => {
  expect(needOfOpenRealm(text)).toBe(reason);
});
