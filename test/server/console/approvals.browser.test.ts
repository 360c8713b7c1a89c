import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ERRORS } from "../../../src/kernel/base/errors.ts";
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
    properties: {
      order: { type: "string" },
      amount: { type: "number", maximum: 100 },
      paidAt: { type: "string", format: "date-time" },
    },
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
  {
    name: "enter",
    description: "Enters an order, and takes it out again.",
    capabilities: { ledger: true },
    undo: { tool: "enter", arguments: { order: "/output" } },
    source: "export default async (order, { host }) => (await host.ledger.add(order), 'out');",
  },
  {
    name: "enter-all",
    description: "Enters an order.",
    capabilities: { tools: ["enter"] },
    source: "export default (_, { host }) => host.tools.call('enter', { order: 'A-1' });",
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
/** Whether effects fail. */
let isShut = false;

beforeAll(async () => {
  const add = (args: unknown): void => {
    if (isShut) throw new Error("the ledger is shut");
    effects.push(args);
  };
  const ledger = defineCapability({ name: "ledger", methods: { add: { handler: add } } });
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [...TOOLS],
    capabilities: [ledger],
    policy: { rules: [{ allow: { ledger: true, pause: true, tools: ["enter"] } }] },
    calls: { path: ":memory:", keep: "everything" },
  });
  const keys = Object.entries(KEYS).map(([name, grant]) => ({ name, ...grant, hash: secrets.get(name)?.hash ?? "" }));
  [browser, server, guarded] = await Promise.all([
    launch(),
    createServer(engine, { port: 0, drainMs: 0 }),
    createServer(engine, { port: 0, drainMs: 0, keys }),
  ]);
}, 300_000);
afterAll(() => Promise.all([browser.close(), server.close(), guarded.close()]));
beforeEach(() => {
  effects = [];
});

/** Makes a call that pauses. Returns its id. */
async function pausedCall(
  args: Record<string, unknown>,
  name = "refund",
  key: string | null = null,
  tenant = "acme",
): Promise<string> {
  const origin = key === null ? {} : { origin: { surface: "http", key } };
  const { error } = await engine.execute({ name, arguments: args }, { tenant, ...origin });
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

  test("is refused with a reason, by whom the person says to be", async () => {
    const id = await pausedCall({ order: "A-8", amount: 12 });
    await using visited = await visit(browser, at(id));
    const { page } = visited;
    await page.getByLabel("Your name, for the record").fill("ada@example.com");
    await page.keyboard.press("Tab");
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("x");
    await page.keyboard.type("it was delivered");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await part(page, "Result").getByText("approval_refused").first().waitFor();
    expect(await part(page, "Waits").getByRole("row").nth(1).textContent()).toMatch(
      /^0approval of refundrefused.* by ada@example\.com: it was delivered$/,
    );
    expect(effects).toEqual([]);
    await using other = await visit(browser, at(await pausedCall({ order: "A-9", amount: 1 })));
    // Another browser does not know the name.
    expect(await other.page.getByLabel("Your name, for the record").inputValue()).toBe("");
  });

  test("shows all that would run, also what nobody sees and what is long", async () => {
    const args = { order: "to \u202eeve", amount: 12, note: `${"a".repeat(600_000)}\u{e0102}end` };
    await using visited = await visit(browser, at(await pausedCall(args)));
    const shown =
      (await visited.page.getByRole("group", { name: "Arguments", exact: true }).first().textContent()) ?? "";
    expect(shown).toContain(String.raw`"order": "to \u202eeve"`);
    expect(shown).toContain(String.raw`a\udb40\udd02end"`);
  });

  test("runs with edited arguments, once they match the schema", async () => {
    const id = await pausedCall({ order: "A-10", amount: 12 });
    await using visited = await visit(browser, at(id));
    const { page } = visited;
    await card(page).waitFor();
    await page.keyboard.press("e");
    const amount = page.getByLabel("amount number");
    expect(await amount.inputValue()).toBe("12");
    await amount.fill("500");
    await amount.press("Enter");
    await press(page, "Approve with these arguments");
    await card(page).getByText("/amount must be <= 100").first().waitFor();
    expect(await amount.getAttribute("aria-invalid")).toBe("true");
    expect((await engine.calls.durable.get(id))?.state).toBe("paused");
    await amount.fill("50");
    await press(page, "Approve with these arguments");
    await part(page, "Result").getByText("paid back A-10").waitFor();
    expect(effects).toEqual([{ order: "A-10", amount: 50 }]);
  });

  test("is edited as JSON where the form would not give its arguments back as they are", async () => {
    // A field for a time knows no time zones.
    const args = { order: "A-11", amount: 12, odd: [1, "2"], paidAt: "2026-01-31T10:00:00.123456+02:00" };
    await using visited = await visit(browser, at(await pausedCall(args)));
    const { page } = visited;
    await press(page, "Edit the arguments");
    const text = page.getByLabel("Arguments as JSON");
    expect(JSON.parse(await text.inputValue())).toEqual(args);
    await text.fill("{");
    await press(page, "Approve with these arguments");
    await card(page)
      .getByText(/^This is not JSON/)
      .waitFor();
    await text.fill('{"order": "A-12", "amount": 1}');
    await press(page, "Approve with these arguments");
    await part(page, "Result").getByText("paid back A-12").waitFor();
    expect(effects).toEqual([{ order: "A-12", amount: 1 }]);
  });

  test("is not decided where its tool has been replaced since", async () => {
    await engine.register({ ...REFUND, name: "swap" });
    const id = await pausedCall({ order: "A-13", amount: 12 }, "swap");
    await using visited = await visit(browser, at(id));
    const { page } = visited;
    const swap = card(page, "swap");
    await swap.waitFor();
    await engine.unregister("swap");
    await engine.register({ ...REFUND, name: "swap", source: "export default () => 'something else';" });
    await press(page, "Approve");
    await swap.getByText(/another version than the one that was shown/).waitFor();
    expect((await engine.calls.durable.get(id))?.waits).toMatchObject([{ state: "open" }]);
    await page.reload();
    await swap.getByText(/another version now than the one that was to run/).waitFor();
    await press(page, "Refuse");
    await part(page, "Result").getByText("approval_refused").first().waitFor();
    expect(effects).toEqual([]);
  });

  test("that somebody else decides shows what there is now on demand, and what is sent is what was shown", async () => {
    const id = await pausedCall({ order: "A-14", amount: 12 });
    const [wait] = (await engine.calls.durable.get(id))?.waits ?? [];
    await using visited = await visit(browser, at(id));
    const { page } = visited;
    await card(page).waitFor();
    await engine.calls.durable.decide(id, { decision: "refuse", reason: "too late" });
    const sent = page.waitForRequest((request) => request.url().endsWith("/decisions"));
    await press(page, "Approve");
    expect((await sent).postDataJSON()).toEqual({
      decision: "approve",
      wait: 0,
      digest: wait?.kind === "approval" ? wait.digest : "",
    });
    await card(page).getByText("it is refused already").waitFor();
    // What was shown stays until somebody asks for the other.
    expect(await card(page).getByText('"A-14"').count()).toBe(1);
    await press(page, "Show what there is now");
    await part(page, "Waits").getByText("too late").waitFor();
    expect(effects).toEqual([]);
  });

  test("of a tool that asks by itself gets data", async () => {
    await using visited = await visit(browser, at(await pausedCall({ message: "Which?", data: { a: 1 } }, "ask")));
    const { page } = visited;
    const asking = part(page, "The call asks for an approval");
    expect(await asking.textContent()).toContain("Which?");
    await page.getByLabel("Data").fill('{"chosen": 2}');
    await press(page, "Approve");
    await part(page, "Result").getByText("chosen").waitFor();
    const history = part(page, "Result").getByRole("link", { name: "Open the call" });
    await history.click();
    await page.getByRole("link", { name: "What it waited for" }).click();
    await part(page, "Waits").getByText("approved").waitFor();
  });
});

describe("a call in doubt", () => {
  /** Effects that happen in the second engine. */
  let done: unknown[] = [];
  let doubted: Server;
  let second: Engine;
  let ids: readonly string[] = [];

  /** An engine over a file. `pay`: its effect. */
  const open = (path: string, pay: (args: unknown) => unknown): Promise<Engine> =>
    createEngine({
      workers: 1,
      executor: "threads",
      tools: [
        {
          ...REFUND,
          source: "export default async (input, { host }) => ({ heard: await host.ledger.add(input) });",
        },
      ],
      capabilities: [defineCapability({ name: "ledger", methods: { add: { handler: pay } } })],
      policy: { rules: [{ allow: { ledger: true } }] },
      calls: { path },
    });

  /** Calls whose engine closes while their effects are under way, and a server over what it has left. */
  async function leave(count: number): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), "glovebox-doubt-"));
    const path = join(folder, "calls.sqlite");
    let begun = 0;
    await using first = await open(path, () => {
      begun++;
      return new Promise(() => undefined);
    });
    const made = Array.from({ length: count }, async (_, at) => {
      const { error } = await first.execute({ name: "refund", arguments: { order: `D-${at}`, amount: 1 } });
      const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
      const [wait] = (await first.calls.durable.get(id))?.waits ?? [];
      const digest = wait?.kind === "approval" ? wait.digest : "";
      await first.calls.durable.decide(id, { decision: "approve", digest });
      return id;
    });
    ids = await Promise.all(made);
    await expect.poll(() => begun).toBe(count);
    await first.close({ drainMs: 0 });
    done = [];
    second = await open(path, (args) => {
      done.push(args);
      return "done again";
    });
    doubted = await createServer(second, { port: 0, drainMs: 0 });
    onTestFinished(async () => {
      await doubted.close();
      await rm(folder, { recursive: true });
    });
  }

  const doubt = (page: Page) => part(page, "Did ledger.add happen?");

  test("is listed and counted, shows what was asked, and goes on with the answer that a person gives with the keyboard", async () => {
    await leave(1);
    await using visited = await visit(browser, `${doubted.url}/#/approvals`);
    const { page, complaints } = visited;
    await page.getByRole("link", { name: "Approvals 1" }).waitFor();
    const list = part(page, "Calls that wait");
    await list.getByText("in doubt").waitFor();
    await list.getByText("ledger.add").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await doubt(page).getByText('"D-0"').waitFor();
    await doubt(page)
      .getByText(/^The process of the call was lost/)
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel("Answer").fill("{");
    await page.getByLabel("Reason").fill("seen in the ledger");
    await page.getByLabel("Your name, for the record").fill("ada@example.com");
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await doubt(page).getByText("The call goes on with this answer.").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await doubt(page)
      .getByText(/^This is not JSON/)
      .waitFor();
    expect((await second.calls.durable.get(ids[0] ?? ""))?.state).toBe("in_doubt");
    await page.getByLabel("Answer").fill('{"entry": 7}');
    await press(page, "It happened");
    await press(page, "Confirm");
    await part(page, "Result").getByText('"entry"').waitFor();
    expect(await part(page, "Waits").textContent()).toMatch(
      /outcome of ledger\.addhappened.* by ada@example\.com: seen in the ledger/,
    );
    expect(done).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("does its effect again only once somebody has confirmed that it did not happen", async () => {
    await leave(2);
    await using visited = await visit(browser, at(ids[0] ?? "", doubted));
    const { page } = visited;
    await doubt(page).waitFor();
    await page.keyboard.press("x");
    await page.keyboard.press("Enter");
    await doubt(page).getByText("The call does it, maybe a second time.").waitFor();
    expect((await second.calls.durable.get(ids[0] ?? ""))?.state).toBe("in_doubt");
    await press(page, "Confirm");
    await part(page, "Result").getByText("done again").waitFor();
    expect(done).toEqual([{ order: "D-0", amount: 1 }]);
    // Without an answer the call hears null.
    await page.goto(at(ids[1] ?? "", doubted));
    await doubt(page).getByText('"D-1"').waitFor();
    await press(page, "It happened");
    await press(page, "Confirm");
    await part(page, "Result").getByText("null").waitFor();
    expect(done).toHaveLength(1);
  });
});

describe("a call that waits for a signal", () => {
  test("gets it after a question, and goes on", async () => {
    await using visited = await visit(browser, at(await pausedCall({}, "wait")));
    const { page } = visited;
    expect(await page.getByLabel("Name of the signal").inputValue()).toBe("payment");
    await page.getByLabel("Payload as JSON").fill("{");
    await page.getByText("This is not JSON.").waitFor();
    expect(await page.getByRole("button", { name: "Send the signal" }).isDisabled()).toBe(true);
    await page.getByLabel("Payload as JSON").fill('{"sum": 12}');
    await press(page, "Send the signal");
    await press(page, "Confirm");
    await part(page, "Result").getByText("12").first().waitFor();
    expect(await part(page, "Waits").textContent()).toMatch(/signal paymentarrived.*It has run 2 times\./);
  });

  test("is cancelled after a question, and not before", async () => {
    const id = await pausedCall({}, "wait");
    await using visited = await visit(browser, at(id));
    const { page } = visited;
    await press(page, "Cancel the call");
    await page.getByText("The call ends with the error cancelled.").waitFor();
    expect((await engine.calls.durable.get(id))?.state).toBe("paused");
    await press(page, "Confirm");
    await part(page, "Result").getByText("cancelled", { exact: true }).first().waitFor();
    // What to do about an error is loaded with the first one.
    await part(page, "Result").getByText(ERRORS.cancelled.advice.replaceAll("`", "")).waitFor();
    expect(await page.getByRole("button", { name: "Cancel the call" }).count()).toBe(0);
  });
});

test("a call shows what it has done, in which runs, and that its tool has been replaced since", async () => {
  const { metadata } = await engine.execute({ name: "enter-all", arguments: {} }, { durable: true });
  await using visited = await visit(browser, at(metadata.durableId ?? ""));
  const { page } = visited;
  const done = part(page, "What it has done");
  await done.getByRole("row", { name: /^1 enter done \{"order":"A-1"\} \S/ }).waitFor();
  await done.getByRole("row", { name: /^1 ended \S.* \S{16}$/ }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  const wait = TOOLS.find(({ name }) => name === "wait") as ToolDefinition;
  const id = await pausedCall({}, "wait");
  await engine.register({ ...wait, source: `${wait.source} export const more = 1;` });
  await page.goto(at(id));
  await page.getByText("its tool is gone or another one now").waitFor();
  await part(page, "What it has done").getByText("It has had no effects.").waitFor();
  await engine.register(wait);
  await engine.calls.durable.cancel(id);
});

test("a call that has ended is undone once somebody confirms it, and each effect is shown", async () => {
  const { metadata } = await engine.execute({ name: "enter-all", arguments: {} }, { durable: true });
  const { durableId = "" } = metadata;
  effects = [];
  await using visited = await visit(browser, at(durableId));
  const { page } = visited;
  await press(page, "Undo its tool calls");
  expect(effects).toEqual([]);
  await press(page, "Confirm");
  await part(page, "Undo").getByText("undone").waitFor();
  expect(effects).toEqual([{ order: "out" }]);
  await page.getByRole("link", { name: "The call that undoes it" }).click();
  await page.getByRole("heading", { name: `${durableId}.undo` }).waitFor();
});

test("what could not be undone is tried again once somebody confirms that", async () => {
  const { metadata } = await engine.execute({ name: "enter-all", arguments: {} }, { durable: true });
  const { durableId = "" } = metadata;
  effects = [];
  isShut = true;
  await using visited = await visit(browser, at(durableId));
  const { page } = visited;
  await press(page, "Undo its tool calls");
  await press(page, "Confirm");
  await part(page, "Undo").getByText("failed", { exact: true }).waitFor();
  isShut = false;
  await press(page, "Try the failed ones again");
  await press(page, "Confirm");
  await part(page, "Undo").getByText("undone", { exact: true }).waitFor();
  expect(effects).toEqual([{ order: "out" }]);
  expect(await page.getByRole("button", { name: "Try the failed ones again" }).count()).toBe(0);
});

describe("a key", () => {
  test("without the role approve sees no buttons that decide, and why", async () => {
    const id = await pausedCall({ order: "A-20", amount: 1 });
    await using visited = await visit(browser, at(id, guarded));
    const { page } = visited;
    await enterKey(page, "caller");
    await page.getByText("Your key may not decide: it does not have the role approve.").waitFor();
    expect(await page.getByRole("button", { name: /^(Approve|Refuse|Edit)/ }).count()).toBe(0);
    await page.getByRole("button", { name: "Cancel the call" }).waitFor();
  });

  test("that only decides sees the tool, and nothing that needs another role", async () => {
    const id = await pausedCall({ order: "A-21", amount: 1 });
    await using visited = await visit(browser, at(id, guarded));
    const { page } = visited;
    await enterKey(page, "boss");
    await card(page).getByText("Pays an order back.").waitFor();
    expect(await page.getByRole("button", { name: /^(Cancel the call|Send)/ }).count()).toBe(0);
    await press(page, "Approve");
    await part(page, "Result").getByText("paid back A-21").waitFor();
    expect(effects).toEqual([{ order: "A-21", amount: 1 }]);
    expect(await part(page, "Result").getByRole("link", { name: "Open the call" }).count()).toBe(0);
  });

  test("does not decide what it has called itself", async () => {
    await using visited = await visit(
      browser,
      at(await pausedCall({ order: "A-22", amount: 1 }, "refund", "lead"), guarded),
    );
    const { page } = visited;
    await enterKey(page, "lead");
    await page.getByText("Your key made the call, and may not decide it.").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  });

  test("that is refused is told which role is missing, where the page does not know its roles", async () => {
    await using visited = await visit(browser, guarded.url);
    const { page } = visited;
    await page.route("**/v1/caller", (route) => route.fulfill({ status: 404, json: {} }));
    await enterKey(page, "caller");
    const id = await pausedCall({ order: "A-23", amount: 1 });
    await page.goto(at(id, guarded));
    await press(page, "Approve");
    await card(page)
      .getByText(/does not have the role "approve"/)
      .waitFor();
    expect((await engine.calls.durable.get(id))?.state).toBe("paused");
  });
});

describe("the list of calls that wait", () => {
  const rows = (page: Page) => part(page, "Calls that wait").locator("tr[aria-rowindex]");

  test("has its filters in the address, also those of ended calls", async () => {
    await pausedCall({}, "wait");
    await using visited = await visit(browser, `${server.url}/#/approvals?tool=wait`);
    const { page, complaints } = visited;
    await rows(page).nth(1).getByText("signal payment").waitFor();
    expect(await rows(page).filter({ hasText: "refund" }).count()).toBe(0);
    await page.keyboard.press("f");
    await page.keyboard.type("State");
    await page.keyboard.press("Tab");
    await page.keyboard.type("ended");
    await page.keyboard.press("Enter");
    await rows(page).nth(1).getByText("ended").waitFor();
    expect(page.url()).toBe(`${server.url}/#/approvals?tool=wait&state=ended`);
    expect(complaints).toEqual([]);
    await using wrong = await visit(browser, `${server.url}/#/approvals?state=odd`);
    await wrong.page.getByText(/state is one of/).waitFor();
  });

  test("says what has come since, and marks what waits no longer", async () => {
    const id = await pausedCall({ order: "A-30", amount: 1 });
    await using visited = await visit(browser, `${server.url}/#/approvals?tool=refund`);
    const { page } = visited;
    await rows(page).nth(1).getByText("approval").waitFor();
    await engine.calls.durable.cancel(id);
    await pausedCall({ order: "A-31", amount: 1 });
    await page.getByRole("button", { name: "1 new" }).waitFor();
    await rows(page).nth(1).getByText("no longer").waitFor();
    await press(page, "1 new");
    await rows(page).nth(1).getByText("approval", { exact: true }).waitFor();
    await rows(page).nth(2).getByText("no longer").waitFor();
  });

  test("is loaded as one scrolls, and only those are drawn that can be seen", async () => {
    const tenant = randomUUID();
    const data = "x".repeat(1_000);
    for (let at = 0; at < 170; at++) await pausedCall({ message: `number ${at}`, data }, "ask", null, tenant);
    await using visited = await visit(browser, `${server.url}/#/approvals?tool=ask&tenant=${tenant}`);
    const { page } = visited;
    await part(page, "Calls that wait")
      .getByText(/, and older ones$/)
      .waitFor();
    await expect
      .poll(async () => {
        await page.evaluate('document.querySelector(".call-box")?.scrollTo(0, 1e9)');
        return rows(page).last().textContent();
      })
      .toMatch(/number 0\b/);
    await part(page, "Calls that wait").getByText("170 calls", { exact: true }).waitFor();
    expect(await rows(page).count()).toBeLessThan(70);
    expect(await page.getByRole("link", { name: "Approvals 50+" }).count()).toBe(1);
  });
});

test("hostile and very long texts are shown as texts, and as a whole", async () => {
  const id = await pausedCall({ message: HOSTILE, data: { [HOSTILE]: HOSTILE, long: "y".repeat(700_000) } }, "ask");
  await using visited = await visit(browser, `${server.url}/#/approvals?tool=ask`);
  const { page, complaints, requests } = visited;
  await page.getByText(HOSTILE).first().waitFor();
  await page.goto(at(id));
  const asking = part(page, "The call asks for an approval");
  const shown = await asking.textContent();
  expect(shown).toContain(HOSTILE);
  expect(shown).toContain("y".repeat(700_000));
  await page.getByLabel("Reason of a refusal").fill(HOSTILE);
  await press(page, "Refuse");
  await part(page, "Waits").getByText(HOSTILE).waitFor();
  expect(await page.evaluate("window.wasRun")).toBeUndefined();
  expect(await page.locator("main img, main script").count()).toBe(0);
  expect(requests.filter((url) => !url.startsWith(server.url))).toEqual([]);
  expect(complaints).toEqual([]);
});

test("axe finds nothing wrong with the list and a call, nor with little room", async () => {
  const id = await pausedCall({ order: "A-40", amount: 1 });
  await using visited = await visit(browser, `${server.url}/#/approvals`);
  const { page, complaints } = visited;
  await part(page, "Calls that wait").getByText("refund").first().waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.goto(at(id));
  await press(page, "Edit the arguments");
  await press(page, "Cancel the call");
  await page.getByLabel("amount number").fill("500");
  await page.getByLabel("Payload as JSON").fill("{");
  await press(page, "Approve with these arguments");
  await card(page).getByText("/amount must be <= 100").first().waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 700 });
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
  await press(page, "Refuse");
  await part(page, "Result").getByText("approval_refused").first().waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(complaints.filter((line) => !line.includes("400 (Bad Request)"))).toEqual([]);
});
