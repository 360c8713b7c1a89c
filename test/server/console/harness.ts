import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import axe, { type RunOptions } from "axe-core";
import { COMPONENTS } from "../../components.ts";
import { createEngine, type EngineOptions, type ToolDefinition } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const DEADLINE_MS = 60_000;
const VIEWPORT = { width: 1440, height: 900 };

/** A browser that asks nobody for anything by itself. */
export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: `/usr/bin/${COMPONENTS.chromium.program}`,
    timeout: DEADLINE_MS * 2,
    args: [
      "--no-sandbox",
      "--headless",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** An engine with these tools, and its server. */
export async function serve(tools: readonly ToolDefinition[], options: EngineOptions = {}): Promise<Server> {
  const engine = await createEngine({ workers: 1, executor: "threads", tools: [...tools], ...options });
  return createServer(engine, { port: 0, drainMs: 0 });
}

/** A page, and what it said and asked for meanwhile. */
export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** Lines of the console, errors, and what the page's policy refused. */
  readonly complaints: readonly string[];
  /** Addresses of all requests. */
  readonly requests: readonly string[];
}

/** Pages that nobody visits, by their browser: a context and a page of one's own cost more than most tests. */
const idle = new WeakMap<Browser, Page>();

/** Opens the page at a path, with nothing stored and nothing done before. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const isPlain = Object.keys(options).length === 0;
  const page = (isPlain ? idle.get(browser) : undefined) ?? (await openPage(browser, options));
  if (isPlain) idle.delete(browser);
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on("console", (line) => complaints.push(`${line.type()}: ${line.text()}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(url);
  await page.locator("h1").waitFor();
  // Handlers of keys are there from the first frame on.
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  const leave = (): Promise<void> => (isPlain && !idle.has(browser) ? rest(browser, page) : page.context().close());
  return { page, complaints, requests, [Symbol.asyncDispose]: leave };
}

/** Has a page wait for the next visit, without anything of this one. */
async function rest(browser: Browser, page: Page): Promise<void> {
  const context = page.context();
  if (context.pages().length > 1) return context.close();
  page.removeAllListeners();
  await page.unrouteAll();
  await page.evaluate("localStorage.clear(), sessionStorage.clear()");
  await context.clearCookies();
  await page.goto("about:blank");
  await page.setViewportSize(VIEWPORT);
  await page.emulateMedia({ reducedMotion: null });
  idle.set(browser, page);
}

async function openPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ viewport: VIEWPORT, ...options });
  context.setDefaultTimeout(DEADLINE_MS);
  return context.newPage();
}

/** What axe finds wrong with a page, in both themes, which differ in colours alone; in a form to be read. */
export async function violationsOf(page: Page): Promise<string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe.source);
  // Colours that fade to others have those between them for a moment: from here on, the page has no motion.
  await page.emulateMedia({ reducedMotion: "reduce" });
  const light = await runAxe(page, {});
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await runAxe(page, { runOnly: ["color-contrast", "link-in-text-block"] });
  await page.emulateMedia({ colorScheme: "light" });
  return [...light, ...dark];
}

async function runAxe(page: Page, options: RunOptions): Promise<string[]> {
  const found = await page.evaluate<
    readonly { id: string; nodes: readonly { html: string; failureSummary: string }[] }[]
  >(`axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`);
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
}

/** The part of the page that has such a heading. */
export function part(page: Page, name: string) {
  return page.getByRole("region", { name, exact: true });
}

/** The text of what has the focus. */
export const focused = (page: Page): Promise<string> => page.evaluate<string>("document.activeElement.textContent");

/** Presses Tab until something with such a text has the focus. */
export async function tabTo(page: Page, text: string): Promise<void> {
  for (let press = 0; press < 60; press++) {
    if ((await focused(page)).startsWith(text)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not reach ${text}`);
}
