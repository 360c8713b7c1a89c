import type { FastifyInstance } from "fastify";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Gate } from "../../src/access/gate.ts";
import { createEngine, type Engine } from "../../src/index.ts";
import { sendRefusal } from "../../src/surfaces/http/answers.ts";
import { createApp } from "../../src/surfaces/http/app.ts";
import { addRoutes } from "../../src/surfaces/http/routes.ts";
import { launch, visit } from "./harness.ts";

const ECHO = { name: "echo", description: "Gives back what it gets.", source: "export default (input) => input;" };

let browser: Browser;
let engine: Engine;
let app: FastifyInstance;
let url = "";

/** A server that knows two keys: one may do everything, the other only call tools. */
beforeAll(async () => {
  [browser, engine] = await Promise.all([launch(), createEngine({ workers: 1, executor: "threads", tools: [ECHO] })]);
  app = createApp(1_000_000);
  app.addHook("onRequest", async (request, reply) => {
    if (!request.url.startsWith("/v1/")) return undefined;
    const key = request.headers.authorization;
    if (key !== "Bearer all" && key !== "Bearer calls") return sendRefusal(reply, "unauthorized", "a key is needed");
    if (key === "Bearer calls" && request.routeOptions.config.role === "metrics") {
      return sendRefusal(reply, "forbidden", "this key has not the role metrics");
    }
    return undefined;
  });
  addRoutes(app, { engine, gate: new Gate(engine), isDraining: () => false });
  await app.listen({ port: 0, host: "127.0.0.1" });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}, 60_000);
afterAll(async () => {
  await browser.close();
  await Promise.all([app.close(), engine.close()]);
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
    await dialog.getByText("The server does not know this key.").waitFor();
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
