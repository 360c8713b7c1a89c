import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import axe from "axe-core";
import { createEngine, type EngineOptions, type ToolDefinition } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const DEADLINE_MS = 60_000;

/** A browser that asks nobody for anything by itself. */
export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: "/usr/bin/chromium",
    timeout: DEADLINE_MS * 2,
    args: [
      "--no-sandbox",
      "--headless=new",
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

/** Opens the page at a path, in a context of its own. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(DEADLINE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  page.on("console", (line) => complaints.push(`${line.type()}: ${line.text()}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(url);
  await page.locator("h1").waitFor();
  return { page, complaints, requests, [Symbol.asyncDispose]: () => context.close() };
}

/** What axe finds wrong with a page, in a form to be read. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate<
    readonly { id: string; nodes: readonly { html: string; failureSummary: string }[] }[]
  >("axe.run().then(({ violations }) => violations)");
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
}

/** The part of the page that has such a heading. */
export function part(page: Page, name: string) {
  return page.getByRole("region", { name, exact: true });
}
