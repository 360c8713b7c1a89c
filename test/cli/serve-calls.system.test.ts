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

async function call(url: string): Promise<number> {
  const body = JSON.stringify({ id: "one", name: "greet", arguments: { name: "Ada" } });
  const headers = { "content-type": "application/json" };
  return (await fetch(`${url}/v1/execute`, { method: "POST", headers, body })).status;
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
