import { afterEach, expect, test } from "vitest";
import { createEngine, type Engine, sharedEngine } from "../../../src/glovebox/index.ts";
import { toFetchHandler } from "../../../src/server/handlers/index.ts";

const engines: Engine[] = [];
afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));

async function make(): Promise<Engine> {
  const tools = [{ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b" }];
  const engine = await createEngine({ executor: "threads", workers: 1, tools });
  engines.push(engine);
  return engine;
}

const call = () =>
  new Request("http://localhost/tools/v1/execute", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "add", arguments: { a: 1, b: 2 } }),
  });
const ready = () => new Request("http://localhost/tools/readyz");
const options = { basePath: "/tools", allowAnybody: true } as const;

test("a function that gives the engine is called with the first request, and once for all", async () => {
  const handler = toFetchHandler(make, options);
  expect(engines).toHaveLength(0);
  const answers = await Promise.all([handler(call()), handler(call())]);
  expect(await Promise.all(answers.map((answer) => answer.json()))).toMatchObject([{ output: 3 }, { output: 3 }]);
  expect(engines).toHaveLength(1);
});

test("a request after the engine was closed goes to the next one", async () => {
  const handler = toFetchHandler(() => sharedEngine("given", make), options);
  await handler(call());
  await engines[0]?.close();
  expect((await handler(call())).status).toBe(200);
  expect(engines).toHaveLength(2);
});

test("a request after one for which no engine could be made tries again", async () => {
  const gives = [() => Promise.reject(new Error("not yet")), make];
  const handler = toFetchHandler(() => gives.shift()?.() ?? Promise.reject(new Error("no more")), options);
  await expect(handler(call())).rejects.toThrow("not yet");
  expect((await handler(call())).status).toBe(200);
});

test("a handler that drains before its first request says that it is not ready", async () => {
  const handler = toFetchHandler(make, options);
  await handler.drain();
  expect((await handler(ready())).status).toBe(503);
});

test("options are checked before there is an engine", () => {
  expect(() => toFetchHandler(make, {})).toThrow(TypeError);
});
