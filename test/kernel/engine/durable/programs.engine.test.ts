import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { codeMode } from "../../../../src/code-mode/index.ts";
import { createEngine, type DurableCall, type Engine, type ToolResult } from "../../../../src/glovebox/index.ts";
import { byLength } from "../../../length.ts";
import { temporaryFolder } from "../../tool/temporary.ts";

/* Programs of code mode wait where a tool needs an approval, and by themselves. */

let engine: Engine;
let sold: unknown[] = [];

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: { kind: "threads" },
    codeMode: {},
    policy: { rules: [], approvals: [{ tools: ["sell"] }] },
  });
  const source = "export default ({ item }) => ({ item, sold: true });";
  await engine.register({ name: "sell", description: "Sells.", source });
  await engine.register({ name: "look", description: "Looks.", source: "export default ({ item }) => item * 2;" });
  engine.on("tool:post", ({ tool, result }) => void (tool === "sell" && sold.push(result.output)));
});
afterAll(() => engine.close());

async function run(code: string): Promise<{ readonly id: string; readonly result: () => Promise<ToolResult> }> {
  sold = [];
  const { error } = await codeMode(engine).run(code);
  expect(error?.code).toBe("paused");
  const { id = "" } = (error?.details ?? {}) as { readonly id?: string };
  return { id, result: async () => (await engine.calls.durable.result(id, {}, { waitMs: 120_000 })) as ToolResult };
}

async function approveAll(id: string): Promise<void> {
  const call = await engine.calls.durable.get(id);
  for (const wait of call?.waits ?? []) {
    if (wait.kind !== "approval" || wait.state !== "open") continue;
    await engine.calls.durable.decide(id, { wait: wait.step, decision: "approve", digest: wait.digest });
  }
}

test("a program waits in the middle of a loop, and each of its calls happens once", async () => {
  const { id, result } = await run(`const done = [];
    for (const item of [1, 2]) {
      const twice = await tools.look({ item });
      done.push(await tools.sell({ item: twice }));
    }
    return done.map(({ item }) => item);`);
  await approveAll(id);
  await expect.poll(async () => (await engine.calls.durable.get(id))?.waits.length).toBe(2);
  await expect.poll(async () => (await engine.calls.durable.get(id))?.state).toBe("paused");
  await approveAll(id);
  const { output } = (await result()) as {
    output: { result: unknown; calls: readonly { tool: string; code: string }[] };
  };
  expect(output.result).toEqual([2, 4]);
  expect(output.calls.map(({ tool, code }) => `${tool} ${code}`)).toEqual(["look ok", "sell ok", "look ok", "sell ok"]);
  expect(sold).toEqual([
    { item: 2, sold: true },
    { item: 4, sold: true },
  ]);
});

test("a program that needs an approval before its start runs once it is approved, as it was shown", async () => {
  await using gated = await createEngine({
    workers: 1,
    executor: "threads",
    codeMode: {},
    policy: { rules: [], approvals: [{ tools: ["run_code"] }] },
    tools: [{ name: "look", description: "Looks.", source: "export default ({ item }) => item * 2;" }],
  });
  const mode = codeMode(gated);
  const { error } = await mode.run("return await tools.look({ item: input });", { input: 21 });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  const [wait] = (await gated.calls.durable.get(id))?.waits ?? [];
  expect(wait).toMatchObject({ kind: "approval", tool: "run_code", arguments: { input: 21 } });
  const approval = { decision: "approve", digest: wait?.kind === "approval" ? wait.digest : "" } as const;
  const edited = gated.calls.decide(id, { ...approval, arguments: { code: "return 1", input: 1 } });
  await expect(edited).rejects.toThrow("the arguments of a program cannot be edited");
  await gated.calls.decide(id, approval);
  expect((await gated.calls.result(id, {}, { waitMs: 120_000 }))?.output).toMatchObject({ result: 42 });
});

test("a program waits by itself for a person, a signal and a time", async () => {
  const { id, result } = await run(`const { data } = await approval({ message: "Go on?" });
    const sum = await signal("payment");
    await sleepUntil(Date.now() + 50);
    return { data, sum };`);
  const [wait] = (await engine.calls.durable.get(id))?.waits ?? [];
  const digest = wait?.kind === "approval" ? wait.digest : "";
  await engine.calls.durable.decide(id, { decision: "approve", digest, data: "yes" });
  await engine.calls.durable.signal(id, "payment", 12);
  expect((await result()).output).toMatchObject({ result: { data: "yes", sum: 12 } });
});

test("a program hears that a call was refused, and may go another way", async () => {
  const { id, result } = await run(`try { await tools.sell({ item: 1 }); } catch (error) { return error.code; }`);
  await engine.calls.durable.decide(id, { decision: "refuse", reason: "too early" });
  expect((await result()).output).toMatchObject({ result: "approval_refused" });
});

test.each([
  ["the signal, where that comes first", "payment", "paid"],
  ["the time, where no signal comes", null, "late"],
])("a race of a signal and a time ends with %s", async (_what, signal, end) => {
  const { id, result } = await run(`return await Promise.race([
    signal("payment").then(() => "paid"),
    sleepUntil(Date.now() + ${signal === null ? 1_500 : 600_000}).then(() => "late"),
  ]);`);
  if (signal !== null) await engine.calls.durable.signal(id, signal);
  expect((await result()).output).toMatchObject({ result: end });
});

test("a race of a signal and a time ends with the time that came while no engine was there", async () => {
  const folder = await temporaryFolder();
  const open = () =>
    createEngine({ workers: 1, executor: "threads", codeMode: {}, calls: { path: join(folder, "calls.sqlite") } });
  const first = await open();
  const { error } = await codeMode(first).run(`return await Promise.race([
    signal("payment").then(() => "paid"),
    sleepUntil(Date.now() + 3_600_000).then(() => "late"),
  ]);`);
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  await first.close();
  const now = Date.now.bind(Date);
  vi.spyOn(Date, "now").mockImplementation(() => now() + 7_200_000);
  await using second = await open();
  const result = await second.calls.durable.result(id, {}, { waitMs: 120_000 });
  expect(result?.output).toMatchObject({ result: "late" });
  await expect(second.calls.durable.signal(id, "payment")).rejects.toThrow("has ended");
});

/* All 120 orders with `npm run test:slow`. */
test("five calls that wait side by side are decided in any order, and each happens once, in its place", async () => {
  for (const order of ordersOf([1, 2, 3, 4, 5]).filter((_order, at) => at % byLength(31, 1) === 0)) {
    const { id, result } = await run(`const calls = [1, 2, 3, 4, 5].map((item) => tools.sell({ item }));
      return (await Promise.allSettled(calls)).map(({ status, value, reason }) => (status === "fulfilled" ? value.item : reason.code));`);
    const { waits } = (await engine.calls.durable.get(id)) as DurableCall;
    expect(waits.map(({ state }) => state)).toEqual(Array(5).fill("open"));
    for (const nth of order) {
      const wait = waits.find(({ step }) => step === nth);
      const digest = wait?.kind === "approval" ? wait.digest : "";
      await engine.calls.durable.decide(id, { wait: nth, decision: nth === 4 ? "refuse" : "approve", digest });
    }
    expect((await result()).output).toMatchObject({ result: [1, 2, 3, "approval_refused", 5] });
    const items = sold.map((one) => (one as { readonly item: number }).item);
    expect(items.toSorted((left, right) => left - right)).toEqual([1, 2, 3, 5]);
  }
});

/* Their effects are counted by a server outside. */
test("five calls that wait side by side tell which of them two people have refused, and are all there where none was", async () => {
  const orders: string[] = [];
  const shop = createHttpServer((request, response) => {
    orders.push(request.url ?? "");
    response.end("sold");
  });
  await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void shop.close());
  const origin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  await using own = await createEngine({
    workers: 1,
    executor: { kind: "threads" },
    codeMode: {},
    policy: {
      rules: [{ allow: { fetch: { origins: ["*"], privateOrigins: [origin], methods: ["GET", "POST"] } } }],
      approvals: [{ tools: ["order"] }],
    },
  });
  await own.register({
    name: "order",
    description: "Orders.",
    capabilities: { fetch: { origins: [origin], methods: ["GET", "POST"] } },
    source: `export default async ({ item }) => (await fetch("${origin}/" + item, { method: "POST" }), item);`,
  });
  for (const [how, refused, expected] of [
    ["allSettled", [2, 5], [1, "approval_refused", 3, 4, "approval_refused"]],
    ["all", [], [1, 2, 3, 4, 5]],
  ] as const) {
    orders.length = 0;
    const { error } = await codeMode(own).run(`const calls = [1, 2, 3, 4, 5].map((item) => tools.order({ item }));
      const ended = await Promise.${how}(calls);
      return ended.map((one) => one.value ?? one.reason?.code ?? one);`);
    const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
    const { waits } = (await own.calls.durable.get(id)) as DurableCall;
    expect([waits.length, orders]).toEqual([5, []]);
    for (const wait of waits) {
      const digest = wait.kind === "approval" ? wait.digest : "";
      const decision = (refused as readonly number[]).includes(wait.step) ? "refuse" : "approve";
      await own.calls.durable.decide(id, { wait: wait.step, decision, digest });
    }
    expect((await own.calls.durable.result(id, {}, { waitMs: 120_000 }))?.output).toMatchObject({ result: expected });
    const bought = expected.filter((one) => typeof one === "number").map((item) => `/${item}`);
    expect(orders.toSorted()).toEqual(bought);
  }
});

function ordersOf(items: readonly number[]): readonly (readonly number[])[] {
  if (items.length < 2) return [items];
  return items.flatMap((first) => ordersOf(items.filter((item) => item !== first)).map((rest) => [first, ...rest]));
}

test("a policy that is tightened while a call waits holds for the rest of it", async () => {
  const allow = { kv: true, pause: true } as const;
  engine.setPolicy({ rules: [{ allow }] });
  const source = `export default async (_, { host }) => {
    await host.kv.set("first", 1);
    await host.pause.signal({ name: "go" });
    await host.kv.set("second", 2);
  };`;
  await engine.register({ name: "keeps", description: "Keeps.", source, capabilities: allow });
  const { error } = await engine.execute({ name: "keeps", arguments: {} });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  engine.setPolicy({ rules: [{ allow: { pause: true } }] });
  await engine.calls.durable.signal(id, "go");
  const ended = await engine.calls.durable.result(id, {}, { waitMs: 120_000 });
  expect(ended?.error?.code).toBe("capability_denied");
});

test("a rule that asks for approvals and is added while a call waits holds for the rest of it", async () => {
  engine.setPolicy({ rules: [] });
  const { id, result } = await run(`const before = await tools.look({ item: 1 });
    await signal("go");
    return [before, await tools.look({ item: 2 })];`);
  engine.setPolicy({ rules: [], approvals: [{ tools: ["look"], message: "from now on" }] });
  await engine.calls.durable.signal(id, "go");
  await expect.poll(async () => (await engine.calls.durable.get(id))?.waits.at(-1)?.kind).toBe("approval");
  const call = await engine.calls.durable.get(id);
  expect(call?.waits.at(-1)).toMatchObject({ tool: "look", arguments: { item: 2 }, message: "from now on" });
  await approveAll(id);
  expect((await result()).output).toMatchObject({ result: [2, 4] });
});
