import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { CallPage } from "../../src/kernel/store/calls/call-record.ts";
import { serve } from "../server/served.ts";

function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-serve-calls-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const spec = '{ name: "greet", description: "Greets.", inputSchema: { type: "object" } }';
  writeFileSync(
    join(folder, "greet.js"),
    `export const spec = ${spec}; export default ({ name }) => "Hello, " + name;`,
  );
  return folder;
}

interface Asked {
  readonly id: string;
  readonly name: string;
  readonly why?: string;
}

async function callWith(url: string, { id, name, ...args }: Asked, tenant?: string): Promise<number> {
  const options = tenant === undefined ? {} : { options: { tenant } };
  const body = JSON.stringify({ id, name, arguments: { name: "Ada", ...args }, ...options });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/v1/execute`, { method: "POST", headers, body });
  await response.arrayBuffer();
  return response.status;
}

function call(url: string): Promise<number> {
  return callWith(url, { id: "one", name: "greet" });
}

test("a server keeps calls in its state folder, over a restart", async () => {
  const cwd = scratchFolder();
  const args = ["greet.js", "--executor", "threads"];
  {
    await using served = await serve(args, { cwd });
    expect(await call(served.url)).toBe(200);
    served.signal("SIGTERM");
    await served.exit;
  }
  expect(existsSync(join(cwd, ".glovebox", "calls.sqlite"))).toBe(true);
  await using again = await serve(args, { cwd });
  const page = (await (await fetch(`${again.url}/v1/calls?tool=greet`)).json()) as CallPage;
  expect(page.calls).toMatchObject([{ id: "one", code: "ok" }]);
});

/** Of five tools and three tenants; every tenth fails. */
const CALLS = Array.from({ length: 1_000 }, (_, at) => ({
  id: `c${at}`,
  name: `tool${at % 5}`,
  tenant: ["acme", "beta", "gamma"][at % 3] ?? "",
  why: at % 10 === 9 ? `Number ${at} has failed` : "",
}));
const AT_ONCE = 50;

/** The ids of all calls that a server lists, over all pages. */
async function listed(url: string, query: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const asked = new URLSearchParams({ limit: "200", ...query, ...(cursor === "" ? {} : { cursor }) });
    const page = (await (await fetch(`${url}/v1/calls?${asked.toString()}`)).json()) as CallPage;
    ids.push(...page.calls.map(({ id }) => id));
    cursor = page.cursor;
  }
  return ids.toSorted();
}

test("1,000 calls over HTTP are found by exact filters, and as well after a restart", async () => {
  const cwd = scratchFolder();
  for (let at = 0; at < 5; at++) {
    const spec = `{ name: "tool${at}", description: "Fails if it is told to.", inputSchema: { type: "object" } }`;
    const run = "({ why }) => { if (why !== '') throw new Error(why); return 1; }";
    writeFileSync(join(cwd, `tool${at}.js`), `export const spec = ${spec}; export default ${run};`);
  }
  const args = [".", "--executor", "threads"];
  const expectFound = async (url: string): Promise<void> => {
    const fits = (is: (call: (typeof CALLS)[number]) => boolean) =>
      CALLS.flatMap((one) => (is(one) ? [one.id] : [])).toSorted();
    await expect.poll(async () => (await listed(url, {})).length).toBe(CALLS.length);
    expect(await listed(url, {})).toEqual(fits(() => true));
    expect(await listed(url, { code: "tool_error", tenant: "acme" })).toEqual(
      fits(({ tenant, why }) => tenant === "acme" && why !== ""),
    );
    expect(await listed(url, { code: "ok", tool: "tool4" })).toEqual(
      fits(({ name, why }) => name === "tool4" && why === ""),
    );
    expect(await listed(url, { text: "number 19", tenant: "beta" })).toEqual(
      fits(({ tenant, why }) => tenant === "beta" && why.startsWith("Number 19")),
    );
    expect(await listed(url, { until: "2020-01-01T00:00:00Z" })).toEqual([]);
    expect(await listed(url, { since: "2020-01-01T00:00:00Z", code: "tool_error" })).toHaveLength(100);
  };
  {
    await using served = await serve(args, { cwd });
    for (let at = 0; at < CALLS.length; at += AT_ONCE) {
      const some = CALLS.slice(at, at + AT_ONCE);
      const codes = await Promise.all(some.map(({ tenant, ...one }) => callWith(served.url, one, tenant)));
      expect(new Set(codes)).toEqual(new Set([200]));
    }
    await expectFound(served.url);
    served.signal("SIGTERM");
    await served.exit;
  }
  await using again = await serve(args, { cwd });
  await expectFound(again.url);
});

test("--keep-calls nothing keeps nothing, and a store that cannot be written does not stop calls", async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, "state"), "a file in the place of the folder");
  await using none = await serve(["greet.js", "--executor", "threads", "--keep-calls", "nothing"], { cwd });
  await using broken = await serve(["greet.js", "--executor", "threads", "--state-dir", "state"], { cwd });
  const problems = async (url: string): Promise<unknown> =>
    ((await (await fetch(`${url}/v1/stats`)).json()) as { readonly problems: unknown }).problems;
  expect(await problems(broken.url)).toEqual(["Calls are not kept: the store cannot be opened: ENOTDIR"]);
  expect([await call(none.url), await call(broken.url)]).toEqual([200, 200]);
  expect((await fetch(`${none.url}/v1/calls`)).status).toBe(404);
  expect((await fetch(`${broken.url}/v1/calls`)).status).toBe(503);
  expect(existsSync(join(cwd, ".glovebox", "calls.sqlite"))).toBe(false);
  const ready = await fetch(`${broken.url}/readyz`);
  expect(ready.status).toBe(200);
  expect(await ready.json()).toMatchObject({
    status: "ready",
    calls: { problem: "the store cannot be opened: ENOTDIR" },
  });
  const line = "calls cannot be kept: the store cannot be opened: ENOTDIR";
  await expect.poll(() => broken.errors.join("\n")).toContain(line);
  expect(broken.errors.join("\n")).toContain(join(cwd, "state", "calls.sqlite"));
  expect(await (await fetch(`${none.url}/readyz`)).json()).not.toHaveProperty("calls");
});
