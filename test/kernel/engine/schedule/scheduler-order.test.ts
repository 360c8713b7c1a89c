import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Desk, pass } from "./support.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A desk whose only slot is taken, so that all calls have to wait until the test finishes `blocker`. */
function busyDesk(options: ConstructorParameters<typeof Desk>[0] = {}): Desk {
  const desk = new Desk(options);
  desk.call("blocker", { tool: "blocker", tenant: "blocker" });
  return desk;
}

async function orderOf(desk: Desk): Promise<string[]> {
  await desk.finishAll();
  return desk.started.slice(1);
}

test("calls of one tenant start in the order they came", async () => {
  const desk = busyDesk();
  for (const name of ["a", "b", "c"]) desk.call(name, { tool: `tool of ${name}` });
  expect(await orderOf(desk)).toEqual(["a", "b", "c"]);
});

test("a higher priority starts first", async () => {
  const desk = busyDesk();
  desk.call("low", { priority: -1 });
  desk.call("normal");
  desk.call("high", { priority: 5 });
  expect(await orderOf(desk)).toEqual(["high", "normal", "low"]);
});

test("a priority beyond the range counts as the end of the range", async () => {
  const desk = busyDesk();
  desk.call("ten", { priority: 10, tenant: "a" });
  desk.call("thousand", { priority: 1_000, tenant: "b" });
  desk.call("ten again", { priority: 10, tenant: "a" });
  expect(await orderOf(desk)).toEqual(["ten", "thousand", "ten again"]);
});

test("tenants take turns within a priority", async () => {
  const desk = busyDesk();
  for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) desk.call(name, { tenant: name.slice(0, 1) });
  expect(await orderOf(desk)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
});

test("a tenant with 10,000 waiting calls delays another tenant's call by one call", async () => {
  const desk = busyDesk();
  for (let index = 0; index < 10_000; index++) desk.call(`flood ${index}`, { tenant: "flood" });
  desk.call("single", { tenant: "modest" });
  await desk.finish("blocker");
  await desk.finish("flood 0");
  expect(desk.started).toEqual(["blocker", "flood 0", "single"]);
});

test("a tenant that comes back at once after its turn does not overtake those who wait for theirs", async () => {
  const desk = busyDesk();
  desk.call("a1", { tenant: "a" });
  desk.call("b1", { tenant: "b" });
  desk.call("c1", { tenant: "c" });
  await desk.finish("blocker");
  desk.call("a2", { tenant: "a" });
  expect(await orderOf(desk)).toEqual(["a1", "b1", "c1", "a2"]);
});

test("every second of waiting counts as one level of priority", async () => {
  const desk = busyDesk();
  desk.call("low", { priority: 0, tenant: "a" });
  await pass(1_900);
  desk.call("one level up", { priority: 1, tenant: "b" });
  desk.call("two levels up", { priority: 2, tenant: "c" });
  expect(await orderOf(desk)).toEqual(["two levels up", "low", "one level up"]);
});

test("a low priority is not starved by a stream of high ones", async () => {
  const desk = busyDesk();
  desk.call("low", { priority: -10, tenant: "low", queueMs: 600_000 });
  for (let second = 0; second < 25; second++) {
    desk.call(`high ${second}`, { priority: 10, tenant: "high" });
    desk.call(`more ${second}`, { priority: 10, tenant: "high" });
    await pass(1_000);
    await desk.finish(desk.running[0] ?? "");
  }
  expect(desk.started).toContain("low");
  expect(desk.started.indexOf("low")).toBeGreaterThan(15);
});

test("no more calls of a tool run than its cap, and calls of other tools pass those that wait", async () => {
  const desk = new Desk({ concurrency: 3, perTool: 1 });
  desk.call("a1", { tool: "a" });
  desk.call("a2", { tool: "a" });
  desk.call("b1", { tool: "b" });
  expect(desk.running).toEqual(["a1", "b1"]);
  await desk.finish("a1");
  expect(desk.running).toEqual(["b1", "a2"]);
});

test("no more calls of a tenant run than its cap, and calls of other tenants pass those that wait", async () => {
  const desk = new Desk({ concurrency: 3, perTenant: 1 });
  desk.call("a1", { tenant: "a" });
  desk.call("a2", { tenant: "a" });
  desk.call("b1", { tenant: "b" });
  expect(desk.running).toEqual(["a1", "b1"]);
  await desk.finish("a1");
  expect(desk.running).toEqual(["b1", "a2"]);
});

test("a request's cap takes the place of the scheduler's for its tool", async () => {
  const desk = new Desk({ concurrency: 9, perTool: 1 });
  for (const name of ["a", "b", "c"]) desk.call(name, { perTool: 2 });
  expect(desk.running).toEqual(["a", "b"]);
});

test("a tool without a cap is not held back by the caps of others", () => {
  const desk = new Desk({ concurrency: 9, perTool: 1 });
  for (const name of ["a", "b", "c"]) desk.call(name, { tool: "free", perTool: Infinity });
  expect(desk.running).toEqual(["a", "b", "c"]);
});

test("a raised cap lets waiting calls start without a completion", async () => {
  const desk = new Desk({ concurrency: 4, maxQueued: 2 });
  for (const name of ["a", "b", "c"]) desk.call(name, { perTool: 1 });
  desk.call("d", { perTool: 3 });
  await pass(0);
  expect(desk.running).toEqual(["a", "b", "c"]);
  expect(desk.outcomes.size).toBe(0);
});

test("a lowered cap waits for enough calls to end", async () => {
  const desk = new Desk({ concurrency: 9 });
  for (const name of ["a", "b", "c"]) desk.call(name, { perTool: 3 });
  desk.call("d", { perTool: 1 });
  await desk.finish("a");
  await desk.finish("b");
  expect(desk.running).toEqual(["c"]);
  await desk.finish("c");
  expect(desk.running).toEqual(["d"]);
});

test("one completion that makes room for a tool and a tenant starts every call that became eligible", async () => {
  const desk = new Desk({ concurrency: 9, perTool: 1, perTenant: 1 });
  desk.call("holder", { tool: "x", tenant: "a" });
  desk.call("same tool", { tool: "x", tenant: "b" });
  desk.call("same tenant", { tool: "y", tenant: "a" });
  expect(desk.running).toEqual(["holder"]);
  await desk.finish("holder");
  expect(desk.running).toEqual(["same tool", "same tenant"]);
});

test("tenants take turns at a capped tool, too", async () => {
  const desk = new Desk({ concurrency: 9, perTool: 1 });
  for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) desk.call(name, { tenant: name.slice(0, 1) });
  await desk.finishAll();
  expect(desk.started).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("a tenant that is always served by other tools gets its turn at a contended one in the end", async () => {
  const desk = new Desk({ concurrency: 2, perTool: 1 });
  const contended = { tool: "contended", queueMs: 600_000 };
  for (let index = 0; index < 40; index++) desk.call(`flood ${index}`, { ...contended, tenant: "flood" });
  desk.call("single", { ...contended, tenant: "busy" });
  for (let index = 0; index < 200; index++)
    desk.call(`other ${index}`, { tool: "other", tenant: "busy", queueMs: 1e6 });
  for (let second = 0; second < 8; second++) {
    await pass(1_000);
    for (const name of desk.running.toSorted().toReversed()) await desk.finish(name);
  }
  expect(desk.started).toContain("single");
});

test("a call starts at once past waiting calls that are all held back by caps", () => {
  const desk = new Desk({ concurrency: 9, perTool: 1, perTenant: 2 });
  desk.call("a1", { tool: "x", tenant: "a" });
  desk.call("a2", { tool: "x", tenant: "a" });
  desk.call("b1", { tool: "y", tenant: "b" });
  expect(desk.started).toEqual(["a1", "b1"]);
});

test("a stream of calls that could start at once does not keep a waiting call from its slot", async () => {
  const desk = new Desk({ concurrency: 2 });
  desk.call("a");
  desk.call("b");
  desk.call("waiting");
  const newcomer = desk.finish("a");
  desk.call("newcomer");
  await newcomer;
  expect(desk.running).toEqual(["b", "waiting"]);
});

test("a raised cap lets those start that waited for it, though the call that raised it has to wait itself", () => {
  const desk = new Desk({ concurrency: 3 });
  for (const name of ["a", "b", "c"]) desk.call(name, { perTool: 1 });
  desk.call("d", { perTool: 9 });
  expect(desk.running).toEqual(["a", "b", "c"]);
});

test("a tenant's turn at one tool counts at another at which its call waited already", async () => {
  const desk = new Desk({ concurrency: 9, perTool: 1 });
  desk.call("holder of x", { tool: "x", tenant: "holder" });
  desk.call("holder of y", { tool: "y", tenant: "holder" });
  desk.call("a at x", { tool: "x", tenant: "a" });
  desk.call("a at y", { tool: "y", tenant: "a" });
  desk.call("b at x", { tool: "x", tenant: "b" });
  await desk.finish("holder of y");
  await desk.finish("holder of x");
  await desk.finish("b at x");
  expect(desk.started.slice(2)).toEqual(["a at y", "b at x", "a at x"]);
});

test("a tenant's turns at other tools count against it for five seconds, and no longer", async () => {
  const desk = new Desk({ concurrency: 2, perTool: 1 });
  const contended = { tool: "contended", queueMs: 600_000 };
  for (let index = 0; index < 40; index++) desk.call(`flood ${index}`, { ...contended, tenant: "flood" });
  desk.call("single", { ...contended, tenant: "busy" });
  for (let index = 0; index < 40; index++) {
    desk.call(`other ${index}`, { tool: "other", tenant: "busy", queueMs: 600_000 });
  }
  const startedAt: number[] = [];
  for (let second = 1; second <= 8; second++) {
    await pass(1_000);
    for (const name of desk.running.toSorted().toReversed()) await desk.finish(name);
    if (desk.started.includes("single")) startedAt.push(second);
  }
  expect(startedAt[0]).toBeGreaterThanOrEqual(5);
  expect(startedAt[0]).toBeLessThanOrEqual(7);
});
