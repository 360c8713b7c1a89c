import { createHash } from "node:crypto";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Role } from "../../../src/server/access/caller.ts";
import type { KeyOptions } from "../../../src/server/access/key-options.ts";
import { createEngine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { launch, visit } from "./harness.ts";

const ECHO = { name: "echo", description: "Gives back what it gets.", source: "export default (input) => input;" };

let browser: Browser;
let server: Server;
let url = "";

/** A key that is kept as servers keep them. */
function keyOf(text: string, roles: readonly Role[]): KeyOptions {
  const hash = `sha256:${createHash("sha256").update(text).digest("hex")}`;
  return { name: text, hash, tenant: null, roles };
}

/** A server that knows two keys: one may do everything, the other only call tools. */
beforeAll(async () => {
  const engine = await createEngine({ workers: 1, executor: "threads", tools: [ECHO] });
  const keys = [keyOf("all", ["execute", "admin", "metrics"]), keyOf("calls", ["execute"])];
  [browser, server] = await Promise.all([launch(), createServer(engine, { port: 0, drainMs: 0, keys })]);
  url = server.url;
}, 300_000);
afterAll(async () => {
  await Promise.all([browser.close(), server.close()]);
});

describe("where the server asks for a key", () => {
  test("so does the page, until it has one that the server knows", async () => {
    await using visited = await visit(browser, url);
    const { page } = visited;
    const dialog = page.getByRole("dialog", { name: "Key" });
    await dialog.waitFor();
    expect(await page.evaluate("document.activeElement.type")).toBe("password");
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    await dialog.getByText("Unknown key.").waitFor();
    await page.keyboard.type("all");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: /^echo/ }).waitFor();
    await page.getByText("in the server's process").waitFor();
    expect(await dialog.isVisible()).toBe(false);
  });

  test("the key stays in this tab, and is gone when it is forgotten", async () => {
    await using visited = await visit(browser, url);
    const { page } = visited;
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("all");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: /^echo/ }).waitFor();
    const kept = "[Object.values(sessionStorage), Object.values(localStorage), document.cookie]";
    expect(await page.evaluate(kept)).toEqual([["all"], [], ""]);
    await page.getByRole("button", { name: "Key in use" }).click();
    await page.getByRole("button", { name: "Forget it" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await page.evaluate(kept)).toEqual([[], [], ""]);
  });

  test("a key that may not see the numbers still runs tools, and the page says what is missing", async () => {
    await using visited = await visit(browser, url);
    const { page } = visited;
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("calls");
    await page.keyboard.press("Enter");
    await page.getByText(/A key with the role metrics may see them/).waitFor();
    await page.getByRole("link", { name: /^echo/ }).click();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("group", { name: "Output" }).waitFor();
  });

  test("a command that was copied has a place for the key, and not the key", async () => {
    await using visited = await visit(browser, `${url}/#/tools/echo`, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const { page } = visited;
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("calls");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await page.getByText("Copied").waitFor();
    const command = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(command).toContain('-H "authorization: Bearer $GLOVEBOX_KEY"');
    expect(command).not.toContain("calls");
  });
});
