import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { codeMode } from "../../../src/code-mode/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { launch, part, violationsOf, visit } from "./harness.ts";

const KEYS = {
  admin: { tenant: "acme", roles: ["admin", "calls", "execute", "metrics"] },
  reader: { tenant: "acme", roles: ["calls", "execute"] },
} as const;
const secrets = new Map(Object.keys(KEYS).map((name) => [name, createKey()]));
const TENANT = { tenant: "acme" };
const FORM = "Save as snippet";

let browser: Browser;
let engine: Engine;
let server: Server;
/** Ids of kept calls. */
let program: string;
let plain: string;

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [{ name: "math.add", description: "Adds.", source: "export default ({ a, b }) => a + b;" }],
    codeMode: { typeCheck: "off" },
    calls: { path: ":memory:", keep: "everything" },
  });
  const keys = Object.entries(KEYS).map(([name, grant]) => ({ name, ...grant, hash: secrets.get(name)?.hash ?? "" }));
  [browser, server] = await Promise.all([launch(), createServer(engine, { port: 0, drainMs: 0, keys })]);
  program = await ranProgram("return { sum: await tools.math.add(input) };");
  const added = await engine.execute({ name: "math.add", arguments: { a: 1, b: 2 } }, TENANT);
  plain = added.metadata.callId;
}, 300_000);
afterAll(() => Promise.all([browser.close(), server.close()]));

/** Runs a program. Returns the id of its call. */
async function ranProgram(code: string): Promise<string> {
  const { error, metadata } = await codeMode(engine, TENANT).run(code, { input: { a: 1, b: 2 } });
  expect(error).toBeNull();
  return metadata.callId;
}

/** Opens the page of a call with a key. Resolves when the page knows what the key may do. */
async function openCall(id: string, key: keyof typeof KEYS, options = {}) {
  const visited = await visit(browser, `${server.url}/#/calls/${id}`, options);
  const { page } = visited;
  await page.getByRole("dialog", { name: "Key" }).waitFor();
  const known = page.waitForResponse((response) => response.url().endsWith("/v1/caller") && response.ok());
  await page.keyboard.type(secrets.get(key)?.secret ?? "");
  await page.keyboard.press("Enter");
  await (await known).finished();
  await page.getByRole("heading", { name: /^Call of/ }).waitFor();
  return visited;
}

/** Presses Tab until the element that has the focus has a text. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let at = 0; at < 60; at++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate("document.activeElement.textContent")) === text) return;
  }
  throw new Error(`Tab does not lead to ${text}`);
}

async function save(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: FORM }).click();
  await part(page, "Snippet").getByLabel("Name").fill(name);
  await part(page, "Snippet").getByLabel("What it does").fill("Adds.");
  await part(page, "Snippet").getByRole("button", { name: "Save", exact: true }).click();
}

describe("a kept program", () => {
  test("is saved with the keyboard alone, can be called at once, and is deleted", async () => {
    await using visited = await openCall(program, "admin");
    const { page, complaints } = visited;
    await page.locator("h1").focus();
    await tabTo(page, FORM);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.type("sum");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Adds two numbers.");
    await page.keyboard.press("Enter");
    await part(page, "Snippet").getByRole("status").getByText("Saved as snippets.sum.").waitFor();
    const call = { name: "snippets.sum", arguments: { a: 40, b: 2 } };
    expect(await engine.execute(call, TENANT)).toMatchObject({ error: null, output: { sum: 42 } });
    await tabTo(page, "snippets.sum");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "snippets.sum", level: 1 }).waitFor();
    await part(page, "Schemas").getByText("Output, as one was").click();
    await part(page, "Schemas").getByText('"sum"').first().waitFor();
    await part(page, "Snippet").getByRole("button", { name: "Delete it" }).press("Enter");
    await page.getByRole("button", { name: "Confirm" }).press("Enter");
    await page.getByRole("heading", { name: "Tools", level: 1 }).waitFor();
    expect(await engine.snippets.list(TENANT)).toEqual([]);
    await page.getByRole("link", { name: "snippets.sum" }).waitFor({ state: "detached" });
    expect(complaints.filter((line) => !line.includes("status of 401"))).toEqual([]);
  });

  test("whose tool is gone is saved, and the page says that it cannot be called", async () => {
    await engine.register({ name: "gone", description: "Goes.", source: "export default () => 1;" });
    // A name that is put together: the program itself is right without the tool.
    const id = await ranProgram("const name = 'go' + 'ne'; return tools[name]({});");
    await engine.unregister("gone");
    await using visited = await openCall(id, "admin");
    await save(visited.page, "late");
    await part(visited.page, "Snippet").getByText("It cannot be called: the tool gone is gone.").waitFor();
    expect(await engine.snippets.delete("late", TENANT)).toBe(true);
  });

  test("is not saved under a wrong name, and the page says why", async () => {
    await using visited = await openCall(program, "admin");
    await save(visited.page, "no name");
    await part(visited.page, "Snippet").getByRole("status").getByText("name must be 1 to 64 letters").waitFor();
    expect(await engine.snippets.list(TENANT)).toEqual([]);
  });
});

test.each([
  ["a key without the role admin", "a program", "reader"],
  ["a key with it", "another tool", "admin"],
] as const)("%s saves no call of %s", async (_whose, what, key) => {
  await using visited = await openCall(what === "a program" ? program : plain, key);
  await visited.page.getByRole("button", { name: "Replay" }).waitFor();
  expect(await visited.page.getByRole("button", { name: FORM }).count()).toBe(0);
});

test("axe finds nothing wrong with the form and what it says, nor with little room", async () => {
  await using visited = await openCall(program, "admin");
  const { page } = visited;
  await save(page, "no name");
  await part(page, "Snippet").getByText("name must be").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await part(page, "Snippet")
    .getByLabel("Name")
    .fill(`long_${"a".repeat(59)}`);
  await page.keyboard.press("Enter");
  await part(page, "Snippet").getByText("Saved as").waitFor();
  await page.setViewportSize({ width: 320, height: 700 });
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
  await part(page, "Snippet").getByRole("link").click();
  await part(page, "Snippet").getByRole("button", { name: "Delete it" }).click();
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
  await engine.snippets.delete(`long_${"a".repeat(59)}`, TENANT);
});
