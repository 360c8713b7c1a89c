import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Server } from "../../../src/server/http/server.ts";
import { launch, serve, visit } from "./harness.ts";

const ADD = {
  name: "add",
  description: "Adds two numbers.",
  tags: ["math"],
  source: "export default ({ a, b }) => ({ sum: a + b });",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
};
const ECHO = { name: "echo", description: "Gives back what it gets.", source: "export default (input) => input;" };
const LOADS = 5;
/** Far more than it takes: how long that is, is measured elsewhere. */
const LOAD_MAX_MS = 5_000;
const TRANSFER_MAX_BYTES = 120 * 1024;

let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([launch(), serve([ADD, ECHO])]);
}, 300_000);
afterAll(async () => {
  await Promise.all([browser.close(), server.close()]);
});

describe("the page", () => {
  test("loads without a complaint, and asks nobody but its server", async () => {
    await using visited = await visit(browser, server.url);
    await visited.page.getByRole("link", { name: /^add/ }).waitFor();
    await visited.page.getByText("for 1 s").or(visited.page.getByText("open")).first().waitFor();
    expect(visited.complaints).toEqual([]);
    expect([...new Set(visited.requests.map((url) => new URL(url).origin))]).toEqual([server.url]);
  });

  test("loads quickly, and is small", async () => {
    const times: number[] = [];
    let bytes = 0;
    for (let load = 0; load < LOADS; load++) {
      // A context of its own, which has loaded nothing before.
      await using visited = await visit(browser, server.url, { colorScheme: "light" });
      await visited.page.getByRole("link", { name: /^add/ }).waitFor();
      times.push(await visited.page.evaluate<number>("performance.now()"));
      bytes = await visited.page.evaluate<number>(
        `performance.getEntries().reduce((sum, { transferSize = 0, name }) => name.includes("/v1/") ? sum : sum + transferSize, 0)`,
      );
    }
    const median = times.toSorted((a, b) => a - b)[Math.floor(LOADS / 2)];
    expect(median).toBeLessThan(LOAD_MAX_MS);
    expect(bytes).toBeGreaterThan(1_000);
    expect(bytes).toBeLessThan(TRANSFER_MAX_BYTES);
  });

  test("may run its own script and no other, and is in nobody's frame", async () => {
    const { headers } = await fetch(server.url);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    await using visited = await visit(browser, server.url);
    await visited.page.evaluate(
      `document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.wasRun = true'>")`,
    );
    await expect.poll(() => visited.page.evaluate("[...document.images].every((image) => image.complete)")).toBe(true);
    expect(await visited.page.evaluate("window.wasRun")).toBeUndefined();
    expect(visited.complaints.join()).toContain("Content Security Policy");
  });

  test("names its files by what is in them, so that a browser may keep them, and asks for itself anew", async () => {
    const first = await fetch(server.url);
    const document = await first.text();
    const files = [...document.matchAll(/"(\/console\/[^"]+)"/g)].map((match) => match[1] ?? "");
    expect(files.map((file) => file.replace(/-[0-9A-Z]{8}\./, "."))).toEqual([
      "/console/icon.svg",
      "/console/style.css",
      "/console/main.js",
    ]);
    for (const file of files) {
      const { status, headers } = await fetch(server.url + file);
      expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
    }
    const etag = first.headers.get("etag") ?? "";
    expect(first.headers.get("cache-control")).toBe("no-cache");
    expect((await fetch(server.url, { headers: { "if-none-match": etag } })).status).toBe(304);
    expect((await fetch(`${server.url}/console/main-00000000.js`)).status).toBe(404);
  });

  test.each([["br"], ["gzip"], ["identity"]])("is sent as %s to who reads that", async (encoding) => {
    const response = await fetch(server.url, { headers: { "accept-encoding": encoding } });
    expect(response.headers.get("content-encoding")).toBe(encoding === "identity" ? null : encoding);
    expect(await response.text()).toContain("<title>Glovebox</title>");
  });

  test("says which tools there are, and finds them by their words", async () => {
    await using visited = await visit(browser, server.url);
    const { page } = visited;
    await page.getByRole("link", { name: /^echo/ }).waitFor();
    await page.keyboard.press("/");
    // The field is there, and has the focus, when the page has drawn itself anew.
    await page.locator("input:focus").waitFor();
    await page.keyboard.type("MATH");
    await page.getByText("1 of 2 tools").waitFor();
    expect(await page.locator(".tool-list a").allTextContents()).toEqual(["addAdds two numbers."]);
    await page.keyboard.press("Escape");
    await page.getByText("2 tools", { exact: true }).waitFor();
  });

  test("shows a tool that there is not as what it is", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/%3Cb%3Enobody`);
    await visited.page.getByText("There is no tool of this name.").waitFor();
    expect(await visited.page.locator("h1").textContent()).toBe("<b>nobody");
  });

  test("has a view for each address, and goes back", async () => {
    await using visited = await visit(browser, `${server.url}/#/tools/add`);
    const { page } = visited;
    await page.getByRole("heading", { name: /^add/ }).waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(await page.title()).toBe("Overview · Glovebox");
    await page.goBack();
    await page.getByRole("heading", { name: /^add/ }).waitFor();
    expect(await page.title()).toBe("add · Glovebox");
  });

  test("is dark or light as the system is, until somebody chooses, and remembers that", async () => {
    const ground = "getComputedStyle(document.body).backgroundColor";
    await using dark = await visit(browser, server.url, { colorScheme: "dark" });
    await using light = await visit(browser, server.url, { colorScheme: "light" });
    const [darkGround, lightGround] = [await dark.page.evaluate(ground), await light.page.evaluate(ground)];
    expect(darkGround).not.toBe(lightGround);
    const button = dark.page.getByRole("button", { name: /^Theme/ });
    await button.click();
    expect(await button.textContent()).toContain("Light");
    expect(await dark.page.evaluate(ground)).toBe(lightGround);
    await dark.page.reload();
    await dark.page.locator("h1").waitFor();
    expect(await dark.page.evaluate(ground)).toBe(lightGround);
  });

  test.each([[320], [1_440]])("is no wider than a window of %i pixels, in either view", async (width) => {
    for (const path of ["/", "/#/tools/add"]) {
      await using visited = await visit(browser, server.url + path, { viewport: { width, height: 700 } });
      await visited.page
        .getByText(/^for |^number/)
        .first()
        .waitFor();
      expect(await visited.page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    }
  });

  test("opens its list of tools on demand where there is little room", async () => {
    await using visited = await visit(browser, server.url, { viewport: { width: 320, height: 700 } });
    const { page } = visited;
    const opener = page.getByRole("button", { name: "Tools" });
    expect(await page.getByRole("link", { name: /^add/ }).isVisible()).toBe(false);
    await opener.click();
    expect(await opener.getAttribute("aria-expanded")).toBe("true");
    await page.getByRole("link", { name: /^add/ }).click();
    await page.getByRole("heading", { name: /^add/ }).waitFor();
    expect(await opener.getAttribute("aria-expanded")).toBe("false");
  });
});
