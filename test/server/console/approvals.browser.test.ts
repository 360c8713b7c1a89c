import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolDefinition } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { recordOf } from "../../../src/server/console/page/wire.ts";
import { launch, part, violationsOf, visit } from "./harness.ts";

const HOSTILE = '<img src=x onerror="window.wasRun=true"><script>window.wasRun=true</script>';

const REFUND: ToolDefinition = {
  name: "refund",
  description: "Pays an order back.",
  annotations: { destructive: true },
  approval: "always",
  capabilities: { ledger: true },
  inputSchema: {
    type: "object",
    properties: { order: { type: "string" }, amount: { type: "number", maximum: 100 } },
    required: ["order", "amount"],
  },
  source: `export default async ({ order, amount }, { host }) => {
    await host.ledger.add({ order, amount });
    return "paid back " + order;
  };`,
};
const TOOLS: readonly ToolDefinition[] = [
  REFUND,
  {
    name: "ask",
    description: HOSTILE,
    capabilities: { pause: true },
    source: `export default async ({ message, data }, { host }) => (await host.pause.approval({ message, data })).data;`,
  },
  {
    name: "wait",
    description: "Waits for a signal.",
    capabilities: { pause: true },
    source: "export default (_, { host }) => host.pause.signal({ name: 'payment' });",
  },
];

const KEYS = {
  caller: { tenant: "acme", roles: ["execute", "calls"] },
  boss: { tenant: "acme", roles: ["approve"] },
  lead: { tenant: "acme", roles: ["execute", "approve", "calls"] },
} as const;
const secrets = new Map(Object.keys(KEYS).map((name) => [name, createKey()]));

let browser: Browser;
let engine: Engine;
/** Without keys, and with them. */
let server: Server;
let guarded: Server;
let effects: unknown[] = [];

beforeAll(async () => {
  const ledger = defineCapability({ name: "ledger", methods: { add: { handler: (args) => void effects.push(args) } } });
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [...TOOLS],
    capabilities: [ledger],
    policy: { rules: [{ allow: { ledger: true, pause: true } }] },
    calls: { path: ":memory:", keep: "everything" },
  });
  const keys = Object.entries(KEYS).map(([name, grant]) => ({ name, ...grant, hash: secrets.get(name)?.hash ?? "" }));
  [browser, server, guarded] = await Promise.all([
    launch(),
    createServer(engine, { port: 0, drainMs: 0 }),
    createServer(engine, { port: 0, drainMs: 0, keys }),
  ]);
}, 60_000);
afterAll(() => Promise.all([browser.close(), server.close(), guarded.close()]));
beforeEach(() => {
  effects = [];
});

/** Makes a call that pauses. Returns its id. */
async function pausedCall(args: Record<string, unknown>, name = "refund", key: string | null = null): Promise<string> {
  const origin = key === null ? {} : { origin: { surface: "http", key } };
  const { error } = await engine.execute({ name, arguments: args }, { tenant: "acme", ...origin });
  expect(error?.code).toBe("paused");
  return error?.code === "paused" ? String(recordOf(error.details)["id"]) : "";
}

const at = (id: string, on: Server = server): string => `${on.url}/#/approvals/${id}`;
const card = (page: Page, tool = "refund") => part(page, `Approve a call of ${tool}?`);
const press = (page: Page, name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();

/** Enters a key in the dialog that asks for one. */
async function enterKey(page: Page, name: keyof typeof KEYS): Promise<void> {
  await page.getByRole("dialog", { name: "Key" }).waitFor();
  await page.keyboard.type(secrets.get(name)?.secret ?? "");
  await page.keyboard.press("Enter");
}

describe("a call that waits for an approval", () => {
  test("is approved with the keyboard alone from the start page, and runs once", async () => {
    await pausedCall({ order: "A-7", amount: 12 });
    await using visited = await visit(browser, server.url);
    const { page, complaints } = visited;
    await page.getByRole("link", { name: /^Approvals \d/ }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.getByRole("heading", { name: "Approvals", level: 1 }).waitFor();
    await part(page, "Calls that wait").getByText("refund").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await card(page).getByText('"A-7"').waitFor();
    expect(await card(page).textContent()).toContain("Pays an order back.");
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await part(page, "Result").getByText("paid back A-7").waitFor();
    expect(effects).toEqual([{ order: "A-7", amount: 12 }]);
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Approvals", level: 1 }).waitFor();
    expect(complaints).toEqual([]);
  });
});
