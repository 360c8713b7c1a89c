import { afterAll, describe, expect, test } from "vitest";
import { SCRIPT_EXPORTS } from "../../../src/kernel/base/protocol/script.ts";
import { mapStack } from "../../../src/kernel/tool/bundle/stack.ts";
import { bundleModule, stopBundler } from "../../../src/kernel/tool/bundle/bundle.ts";
import { openRealm } from "./in-realm.ts";

afterAll(stopBundler);

const IMPORTS = `
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { EventEmitter, once } from "node:events";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
const als = new AsyncLocalStorage();
const other = new AsyncLocalStorage({ defaultValue: "usual", name: "other" });
const seen = () => als.getStore() ?? "none";
const soon = (ms = 0, value) => new Promise((resolve) => setTimeout(resolve, ms, value));
const inEach = (act) => Promise.all(["a", "b", "c"].map((store, at) => als.run(store, act, at)));
`;

/** Bodies of asynchronous functions, by what they show. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "several runs at once": `return inEach(async (at) => { await soon(3 - at); const first = seen(); await null; return [first, seen()]; });`,
  "code beside pending runs": `const runs = inEach(async () => { await soon(1); return seen(); }); const now = seen(); await null; return [now, seen(), await runs, seen()];`,
  "runs within runs": `return inEach(async () => { const inner = als.run("inner", async () => { await soon(1); return seen(); }); await null; return [seen(), await inner, seen()]; });`,
  "functions called by functions": `const deep = async (n) => n === 0 ? seen() : (await soon(), deep(n - 1)); return inEach((at) => deep(at));`,
  "two storages": `return inEach(async (at) => other.run(at, async () => { await soon(2 - at); const both = [seen(), other.getStore()]; return [...both, await other.exit(async () => { await null; return other.getStore() ?? "none"; })]; }));`,
  "default values": `const before = [other.getStore(), other.name]; return [...before, await other.run(undefined, async () => { await null; return other.getStore() ?? "none"; }), other.getStore()];`,
  enterWith: `const task = async (store) => { await null; als.enterWith(store); await soon(); return seen(); }; return [await Promise.all([task(1), task(2)]), seen()];`,
  "enterWith before the first await": `const task = async (store) => { als.enterWith(store); await soon(); return seen(); }; const tasks = [task(1), task(2)]; const now = seen(); await null; return [now, await Promise.all(tasks), seen()];`,
  exit: `return inEach(async () => { const out = als.exit(async () => { await soon(); return seen(); }); return [seen(), await out, seen()]; });`,
  disable: `als.enterWith(1); const before = seen(); als.disable(); await null; return [before, seen(), als.run(2, seen)];`,
  "bind, snapshot and resources": `const made = await inEach(async () => { await soon(); return [AsyncLocalStorage.bind(seen), AsyncLocalStorage.snapshot(), new AsyncResource("r"), AsyncResource.bind(seen)]; });
    return made.map(([bound, within, resource, other]) => [bound(), within(seen), within((...given) => given, 1, 2), resource.runInAsyncScope(seen), resource.bind(seen)(), other(), seen()]);`,
  "functions bound to a receiver": `const self = { n: 1, f: AsyncResource.bind(function (add) { return this.n + add; }), g: AsyncResource.bind(function () { return this; }, "t", 7) }; return [self.f(2), Number(self.g())];`,
  "what bound functions wait for": `const within = als.run("a", () => AsyncLocalStorage.snapshot()); const calls = [within(async () => { await soon(2); return seen(); }), als.run("b", async () => { await soon(1); return seen(); })]; return Promise.all(calls);`,
  timers: `return inEach((at) => new Promise((resolve) => setTimeout((given) => setImmediate(() => resolve([given, seen()])), 3 - at, at)));`,
  "a timer after its run": `const seenLater = new Promise((resolve) => als.run("a", () => { setTimeout(() => resolve(seen()), 1); })); return [seen(), await seenLater, seen()];`,
  intervals: `return inEach(() => new Promise((resolve) => { let times = 0; const id = setInterval(() => { if (++times === 2) { clearInterval(id); resolve(seen()); } }, 1); }));`,
  microtasks: `return inEach(() => new Promise((resolve) => queueMicrotask(() => process.nextTick((given) => resolve([given, seen()]), 1))));`,
  "then, catch and finally": `return inEach((at) => soon(3 - at).then(() => { throw seen(); }).catch((error) => [error, seen()]).finally(() => als.enterWith("no")).then((all) => [...all, seen()]));`,
  "continuations of where they were given": `const made = als.run("maker", async () => { await soon(1); return seen(); }); return [await als.run("taker", () => made.then((value) => [value, seen()])), await made];`,
  "static functions of promises": `return inEach(async (at) => { const all = [await Promise.race([soon(5), soon(1, at)]), await Promise.any([Promise.reject(new Error("x")), soon(1, "any")]), (await Promise.allSettled([Promise.reject(1)])).map(({ reason }) => reason), await Promise.try(seen)]; const { promise, resolve } = Promise.withResolvers(); setTimeout(resolve, 1, seen()); return [...all, await promise, seen()]; });`,
  rejections: `return inEach(async (at) => { try { await soon(3 - at); throw new Error(seen()); } catch (error) { await null; return [error.message, seen()]; } finally { await null; } });`,
  "a rejection that nothing but its run takes": `const run = als.run("a", async () => { await null; throw new TypeError("no luck"); }); return [await run.catch((error) => [error.name, error.message, seen()]), seen()];`,
  thenables: `const thenable = { then(resolve) { resolve(seen()); } }; return inEach(async (at) => { await soon(3 - at); return [await thenable, await Promise.resolve(thenable), await (async () => thenable)()]; });`,
  "a thenable that begins its work once": `let begun = 0; const query = { then(resolve) { begun++; resolve(seen()); } }; const answers = [await als.run("a", () => query), await als.run("b", async () => await query)]; return [answers, begun];`,
  "a thenable that fails": `return als.run("a", async () => { const errors = []; for (const bad of [{ get then() { throw 1; } }, { then() { throw 2; } }, { then(_ok, no) { no(3); } }]) try { await bad; } catch (error) { errors.push([error, seen()]); } return errors; });`,
  "asynchronous generators": `async function* numbers(n, all) { try { for (let at = 0; at < n; at++) { await soon(); yield [at, seen()]; } } finally { await null; all.push(seen()); } }
    return inEach(async (at) => { const all = []; for await (const one of numbers(2, all)) { all.push(one, seen()); if (at === 1) break; } return all; });`,
  "a generator made in another run": `async function* stores() { for (;;) { const before = seen(); await soon(); yield [before, seen()]; } } const made = als.run("maker", () => stores());
    const step = (store) => als.run(store, async () => (await made.next()).value); return [await step("a"), await step("b"), await als.run("c", async () => { await made.return(); return seen(); })];`,
  "yield* and for await over lists": `async function* inner() { yield seen(); yield await soon(1, seen()); } async function* outer() { yield* inner(); yield* [seen()]; }
    return inEach(async () => { const all = []; for await (const one of outer()) all.push(one); for await (const one of [soon(1, 1), 2]) all.push(one, seen()); return all; });`,
  "generators that are told to end": `const all = []; async function* inner() { try { yield 1; } finally { await null; all.push("inner"); } }
    async function* outer() { try { yield* inner(); } finally { yield* (async function* () { yield 7; await 1; all.push("delegated"); yield 8; })(); await null; all.push("end", seen()); } }
    for (const end of ["return", "throw"]) { const made = outer(); all.push(await made.next(), await made[end](3).catch(String)); for (let at = 0; at < 3; at++) all.push(await made.next().catch(String)); } return all;`,
  "generators that nobody waits for": `async function* numbers() { yield soon(2, 1); yield seen(); return 3; } const made = numbers(); return Promise.all([made.next(), made.next(), made.next(), made.next()]);`,
  "synchronous generators": `function* stores() { for (;;) yield seen(); } const made = stores(); return [als.run("a", () => made.next().value), als.run("b", () => made.next().value), made.next().value];`,
  "listeners of emitters": `const emitter = new EventEmitter(); const heard = []; als.run("on", () => emitter.on("x", () => heard.push(seen()))); als.run("emit", () => emitter.emit("x")); await inEach(async (at) => { await soon(3 - at); emitter.emit("x"); }); return heard.sort();`,
  "once of events": `const emitter = new EventEmitter(); setTimeout(() => emitter.emit("x", 1), 3); return inEach(async () => [await once(emitter, "x"), seen()]);`,
  "callbacks of streams": `return inEach(async (at) => { const all = []; const upper = new Transform({ transform(chunk, _encoding, done) { all.push(seen()); done(null, String(chunk).toUpperCase()); } }); upper.on("data", () => all.push(seen())).on("end", () => all.push(seen())); await soon(3 - at); upper.write("a"); upper.end("b", () => all.push(seen())); await once(upper, "close"); return all; });`,
  "streams that are read": `return inEach(async () => { const all = []; for await (const chunk of Readable.from(["x", "y"])) { await soon(); all.push(chunk, seen()); } await pipeline(Readable.from(["z"]), new Transform({ transform(chunk, _e, done) { setTimeout(() => { all.push(seen()); done(); }, 1); } }).resume()); return [...all, seen()]; });`,
  promisify: `const later = promisify((value, done) => setTimeout(() => done(null, [value, seen()]), 1)); return inEach(async (at) => [await later(at), seen()]);`,
  "methods, this, arguments and super": `class One { constructor(n) { this.n = n; } async add(by = 1, ...rest) { await soon(); return [this.n + by + rest.length, arguments.length, seen()]; } } class Two extends One { async add(...all) { return [...await super.add(...all), new.target === undefined]; } static async made() { await null; return [this.name, seen()]; } #own = async () => { await null; return this.n; }; own() { return this.#own(); } }
    return inEach(async (at) => [await new Two(at).add(2, 3, 4), await Two.made(), await new Two(at).own()]);`,
  "what promises are": `class Mine extends Promise {} const made = (async () => 1)(); return [made instanceof Promise, Promise.resolve() instanceof Mine, Mine.resolve(1) instanceof Mine, Mine.resolve(1).then() instanceof Mine, await Mine.resolve(seen()), Promise.name, Object.prototype.toString.call(made), made.constructor === Promise, Promise.resolve(made) === made];`,
  "an error within a run": `const errors = []; try { als.run("a", () => { throw new Error(seen()); }); } catch (error) { errors.push(error.message, seen()); } await null; return [...errors, seen()];`,
  "a promise that resolves itself": `const { promise, resolve } = Promise.withResolvers(); resolve(promise); return promise.catch((error) => error.name);`,
  "a queue that one run begins and others use": `const queue = []; let isBusy = false; const work = async () => { isBusy = true; while (queue.length > 0) { const { task, done } = queue.shift(); done(await task()); } isBusy = false; };
    const add = (task) => new Promise((done) => { queue.push({ task, done }); if (!isBusy) void work(); }); return inEach(async () => [await add(AsyncResource.bind(async () => { await soon(); return seen(); })), seen()]);`,
};

async function inIsolate(body: string): Promise<{ readonly answer: unknown; readonly warnings: unknown[] }> {
  const text = `${IMPORTS}\nexport default async () => {\n${body}\n};`;
  const bundle = await bundleModule({ kind: "text", text, name: "stores" });
  using realm = await openRealm(`${SCRIPT_EXPORTS}.default`, { before: bundle.text });
  return { answer: realm.call(), warnings: realm.emitted.filter(([kind]) => kind === 1) };
}

/** What Node itself answers. */
async function inNode(body: string): Promise<unknown> {
  const text = `${IMPORTS}\nexport default async () => {\n${body}\n};`;
  const url = `data:text/javascript,${encodeURIComponent(text)}`;
  const { default: run } = (await import(/* @vite-ignore */ url)) as { default: () => Promise<unknown> };
  return JSON.parse(JSON.stringify(await run())) as unknown;
}

function failureOf(call: () => unknown): { readonly stack: string } {
  try {
    return { stack: `no failure: ${String(call())}` };
  } catch (error) {
    return JSON.parse((error as Error).message.slice(1)) as { stack: string };
  }
}

describe("AsyncLocalStorage answers as Node's", () => {
  test.each(Object.entries(PROGRAMS))("%s", async (_name, body) => {
    const { answer, warnings } = await inIsolate(body);
    expect(answer).toEqual(await inNode(body));
    expect(warnings).toEqual([]);
  });
});

describe("A bundle with AsyncLocalStorage", () => {
  test("has stacks with the tool's lines", async () => {
    const text = `${IMPORTS}
async function inner() { await soon();
  throw new Error("no luck");
}
async function* numbers() { yield await inner(); }
export default () => als.run(1, async () => {
  for await (const one of numbers()) return one;
});`;
    const bundle = await bundleModule({ kind: "text", text, name: "stores" });
    using realm = await openRealm(`${SCRIPT_EXPORTS}.default`, { before: bundle.text });
    const { stack } = failureOf(() => realm.call());
    // The realm of the test puts a line before the bundle's.
    const line = text.split("\n").findIndex((one) => one.includes("no luck")) + 1;
    expect(mapStack(stack, bundle.sourceMap, "tool:tool")).toBe(`Error: no luck\n    at stores.js:${line}:9`);
  });

  test("shows no call of a shared module the stores of another", async () => {
    const text = `${IMPORTS}
const begun = [];
export default async (input) => {
  if (input === "look") return [seen(), await soon(), seen(), await begun[0].then(() => seen()), seen()];
  als.enterWith("entered");
  begun.push(als.run("secret", async () => { await null; return "settled with " + seen(); }));
  await als.run("secret", () => new Promise(() => {}));
};`;
    const bundle = await bundleModule({ kind: "text", text, name: "stores" });
    using realm = await openRealm(`${SCRIPT_EXPORTS}.default`, { before: bundle.text, shared: true });
    realm.batch("begin");
    expect(realm.call("look")).toEqual(["none", null, "none", "none", "none"]);
  });
});

test("A bundle without stores keeps its asynchronous functions", async () => {
  const text = `import { AsyncResource } from "node:async_hooks";
export default async () => new AsyncResource("AsyncLocalStorage").runInAsyncScope(async () => { await null; });`;
  const bundle = await bundleModule({ kind: "text", text, name: "resources" });
  expect(bundle.text).toMatch(/async \(\) => new AsyncResource\("AsyncLocalStorage"\)/);
  expect(bundle.text).not.toContain("__async");
});

test("Runs of LangChain know their own configuration", async () => {
  const text = `import { RunnableLambda, RunnableSequence } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { AsyncLocalStorage } from "node:async_hooks";
AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());
const tags = () => AsyncLocalStorageProviderSingleton.getRunnableConfig()?.tags;
const look = RunnableLambda.from(async (at) => { await new Promise((resolve) => setTimeout(resolve, 3 - at)); return [at, tags()]; });
const chain = RunnableSequence.from([look, async ([at, seen]) => [at, seen, tags()]]);
export default async () => [
  await Promise.all([0, 1, 2].map((at) => chain.invoke(at, { tags: ["run " + at] }))),
  await Promise.all([0, 1].map(async (at) => { const all = []; for await (const one of await chain.stream(at, { tags: ["s " + at] })) all.push(one); return all; })),
];`;
  const bundle = await bundleModule({ kind: "text", text, name: "chain", resolveDir: process.cwd() });
  using realm = await openRealm(`${SCRIPT_EXPORTS}.default`, { before: bundle.text });
  const of = (prefix: string, at: number) => [at, [`${prefix} ${at}`], [`${prefix} ${at}`]];
  expect(realm.call()).toEqual([[0, 1, 2].map((at) => of("run", at)), [0, 1].map((at) => [of("s", at)])]);
});
