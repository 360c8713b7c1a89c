// needs: redis
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FleetKeys } from "../../../src/fleet/wire/keys.ts";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import type { Server } from "../../../src/server/http/server.ts";
import { startFleet, type TestFleet } from "../../fleet/fleet.ts";
import { launch, part, serve, violationsOf, visit } from "./harness.ts";

const FORGED = "machine-00000000000000ff";
const MARKUP = "<img src=x onerror=alert(1)>";

let browser: Browser;
let fleet: TestFleet;
let server: Server;
let connection: RedisConnection;

beforeAll(async () => {
  [browser, fleet] = await Promise.all([launch(), startFleet(1, { scale: 1 })]);
  server = await serve([], { executor: { kind: "queue", url: fleet.url, fleet: fleet.name } });
  connection = RedisConnection.open(fleet.url, "forger");
  await forge();
}, 300_000);
afterAll(async () => {
  await Promise.all([browser.close(), server.close(), connection.close()]);
  await fleet[Symbol.asyncDispose]();
});

/** Puts a stand-in for a machine into Redis that speaks another protocol. */
async function forge(): Promise<void> {
  const keys = new FleetKeys(fleet.name);
  const counts = { isolates: { active: 0, warm: 0, blank: 0 }, starts: {}, heapBytes: {}, rssBytes: 0 };
  const state = { isReady: true, isDraining: false, isSandboxed: false, quarantined: [] };
  const info = { id: FORGED, protocols: [9], slots: 3, busySlots: 1, ...counts, ...state, host: MARKUP, beat: 1 };
  await connection.client.zadd(keys.of("machines"), Date.now() + 60_000, FORGED);
  await connection.client.set(keys.of("machine", FORGED), `plain1:${JSON.stringify(info)}`);
}

describe("the page of a fleet", () => {
  test("shows its machines, and what they say as text", async () => {
    await using visited = await visit(browser, `${server.url}/#/fleet`);
    const card = part(visited.page, "Machines");
    await card.getByText("1 machine takes calls, 0 of 8 slots busy, 0 jobs waiting.").waitFor();
    const rows = card.getByRole("row");
    await rows
      .filter({ hasText: fleet.machines[0]?.id ?? "" })
      .getByText("ready")
      .waitFor();
    const forged = rows.filter({ hasText: FORGED });
    await forged.getByText("other protocol").waitFor();
    expect(await forged.getByRole("cell").nth(1).textContent()).toBe(MARKUP);
    expect(await card.locator("img").count()).toBe(0);
    expect(visited.complaints).toEqual([]);
  });

  test("axe finds nothing wrong with it", async () => {
    await using visited = await visit(browser, `${server.url}/#/fleet`);
    await part(visited.page, "Machines").getByRole("table").waitFor();
    expect(await violationsOf(visited.page)).toEqual([]);
  });

  test("is named where there is a fleet, and nowhere else", async () => {
    await using fleets = await visit(browser, server.url);
    await fleets.page.getByRole("link", { name: "Fleet" }).click();
    await fleets.page.getByRole("heading", { name: "Fleet" }).waitFor();
    await using own = await serve([]);
    await using visited = await visit(browser, own.url);
    await visited.page.getByText("in the server's process").waitFor();
    expect(await visited.page.getByRole("link", { name: "Fleet" }).count()).toBe(0);
  });

  test("says why no calls run", async () => {
    await using visited = await visit(browser, `${server.url}/#/fleet`);
    await part(visited.page, "Machines").getByRole("table").waitFor();
    await fleet.redis.stop();
    await visited.page.getByText(/^No calls run: Redis has not been reached since \S+ \([A-Z]+\)/).waitFor();
    await fleet.redis.start();
    await visited.page.getByText(/^No calls run/).waitFor({ state: "detached" });
  });
});
