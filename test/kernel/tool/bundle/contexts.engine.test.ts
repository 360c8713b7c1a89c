import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

/** `AsyncLocalStorage` in tools: Node is the judge. */

let engine: Engine;
let folder: string;
beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  folder = await mkdtemp(path.join(tmpdir(), "glovebox-contexts-"));
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

const HEAD = `import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { setTimeout as later } from "node:timers/promises";
const [one, other] = [new AsyncLocalStorage(), new AsyncLocalStorage({ defaultValue: "usual" })];
const seen = () => [one.getStore() ?? "none", other.getStore() ?? "none"].join(" ");
const tick = () => new Promise((done) => setTimeout(done, 1));
const names = ["ada", "bob", "eve"];
`;

test.each([
  [
    "runs side by side",
    "Promise.all(names.map((name) => one.run(name, async () => { await tick(); return seen(); })))",
  ],
  [
    "runs within runs",
    `Promise.all(names.map((name) => one.run(name, async () => {
      await tick();
      const inner = await other.run(name + "'s", async () => { await tick(); return seen(); });
      return [inner, seen()];
    })))`,
  ],
  ["code after a run that is pending", "(() => { const run = one.run(1, tick); return run.then(() => seen()); })()"],
  ["a run's own code beside what follows it", "[one.run(1, () => { void tick(); return seen(); }), seen()]"],
  [
    "enterWith",
    "(async () => { one.enterWith(1); await tick(); const inner = seen(); await one.run(2, tick); return [inner, seen()]; })()",
  ],
  [
    "enterWith in a function that is awaited",
    "(async () => { const enters = async () => { one.enterWith(1); await tick(); }; await enters(); return seen(); })()",
  ],
  [
    "exit",
    "one.run(1, () => other.run(2, async () => { await tick(); return [one.exit(seen), await other.exit(async () => { await tick(); return seen(); }), seen()]; }))",
  ],
  [
    "bind, snapshot and resources",
    `(async () => {
      const [bound, within, resource] = one.run(1, () => [AsyncLocalStorage.bind(seen), AsyncLocalStorage.snapshot(), new AsyncResource("r")]);
      await tick();
      return one.run(2, async () => { await tick(); return [bound(), within(seen), resource.runInAsyncScope(seen), resource.bind(seen)(), seen()]; });
    })()`,
  ],
  [
    "timers and microtasks",
    `one.run(1, () => Promise.all([
      new Promise((done) => setTimeout(() => done(seen()), 1)),
      new Promise((done) => setImmediate(() => done(seen()))),
      new Promise((done) => queueMicrotask(() => done(seen()))),
      new Promise((done) => process.nextTick(() => done(seen()))),
      new Promise((done) => { const timer = setInterval(() => { clearInterval(timer); done(seen()); }, 1); }),
      (async () => { await later(1); return seen(); })(),
    ]))`,
  ],
  [
    "chains of promises",
    `Promise.all(names.map((name) => one.run(name, () => tick().then(seen).then((text) => [text, seen()]).finally(seen))))`,
  ],
  [
    "rejections that are caught",
    `Promise.all(names.map((name) => one.run(name, async () => { try { await Promise.reject(1); } catch { await tick(); return seen(); } })))`,
  ],
  ["then of an object", `one.run(1, async () => [await { then: (done) => done(seen()) }, seen()])`],
  [
    "generators",
    `Promise.all(names.map((name) => one.run(name, async () => {
      const numbers = (async function* () { for (const at of [1, 2]) { await tick(); yield at + seen(); } })();
      const all = [];
      for await (const each of numbers) all.push(each, seen());
      return all;
    })))`,
  ],
  [
    "generators that another run reads",
    `(async () => {
      const texts = one.run(1, () => (async function* () { yield seen(); await tick(); yield seen(); })());
      return one.run(2, async () => [(await texts.next()).value, (await texts.next()).value, seen()]);
    })()`,
  ],
  [
    "methods of classes",
    `(async () => {
      class Base { async own() { await tick(); return this.name + seen(); } }
      class Named extends Base { name = "n"; async own() { const inner = await super.own(); return [inner, seen(), arguments.length]; } }
      return Promise.all(names.map((name) => one.run(name, () => new Named().own(1, 2))));
    })()`,
  ],
  [
    "events of an emitter",
    `(async () => {
      const emitter = new EventEmitter();
      const heard = [];
      one.run(1, () => emitter.on("said", () => heard.push(seen())));
      await one.run(2, async () => { await tick(); emitter.emit("said"); });
      return heard;
    })()`,
  ],
  [
    "a stream that is read",
    `one.run(1, async () => { const all = []; for await (const each of Readable.from(["a", "b"])) { await tick(); all.push(each + seen()); } return all; })`,
  ],
  [
    "a storage that is disabled",
    `one.run(1, async () => { await tick(); one.disable(); await tick(); return seen(); })`,
  ],
  [
    "the class of promises",
    `(() => {
      class Mine extends Promise {}
      const kinds = [new Promise(() => {}), Mine.resolve(1), (async () => {})(), later(1), Promise.withResolvers().promise];
      return [kinds.map((kind) => [kind instanceof Promise, kind instanceof Mine]), Promise.name, Object.prototype.toString.call(kinds[0])];
    })()`,
  ],
])("%s: as in Node", async (name, expression) => {
  const module = `${HEAD}export default async () => (${expression});\n`;
  const file = path.join(folder, `${name.replaceAll(/\W/g, "-")}.mjs`);
  await writeFile(file, module);
  const { default: inNode } = (await import(pathToFileURL(file).href)) as { readonly default: () => Promise<unknown> };
  const tool = `t_${name.replaceAll(/\W/g, "_")}`;
  await engine.register({ name: tool, description: "Has stores.", source: module });
  const { output, error } = await engine.execute({ name: tool, arguments: {} });
  expect(error).toBeNull();
  expect(output).toEqual(await inNode());
});

test("an error after an await names its line, though the function was lowered", async () => {
  const source = `${HEAD}const fails = async () => {\n  await tick();\n  throw new Error("no luck");\n};\nexport default () => one.run(1, fails);`;
  await engine.register({ name: "fails", description: "Fails.", source });
  const { error } = await engine.execute({ name: "fails", arguments: {} });
  expect(error?.details).toMatchObject({ stack: expect.stringContaining("fails.js:11") as string });
});

test("a module that awaits at its top level cannot use it", async () => {
  const source = `${HEAD}await null;\nexport default () => one.run(1, seen);`;
  const [answer] = await Promise.allSettled([engine.register({ name: "both", description: "Both.", source })]);
  expect(String((answer as PromiseRejectedResult).reason)).toContain(
    "awaits outside of any function at both.js:9, which a tool cannot that uses AsyncLocalStorage",
  );
});
