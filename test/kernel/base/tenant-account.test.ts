import { describe, expect, test } from "vitest";
import { ENGINE_HELD, HostAccount, TENANT_HELD, TenantAccounts } from "../../../src/kernel/base/tenant-account.ts";

const HOUR_MS = 3_600_000;

describe("an account", () => {
  test("passes charges on to all that contain it", () => {
    const accounts = new TenantAccounts();
    const call = new HostAccount("a", accounts.of("a"));
    call.countAsk(10);
    call.countAnswer(20);
    call.spendMain(3);
    call.spendExecutor(4);
    const charged = { asks: 1, bytesAsked: 10, bytesAnswered: 20, mainMs: 3, executorMs: 4 };
    for (const account of [call, accounts.of("a"), accounts.total]) expect(account.usage()).toMatchObject(charged);
    expect(accounts.of("b").usage()).toMatchObject({ asks: 0, mainMs: 0 });
  });

  test("holds no more than its tenant may", () => {
    const accounts = new TenantAccounts();
    const [one, other] = [new HostAccount("a", accounts.of("a")), new HostAccount("a", accounts.of("a"))];
    expect(one.hold("journalBytes", TENANT_HELD.journalBytes)).toBe(true);
    expect(other.hold("journalBytes", 1)).toBe(false);
    expect(accounts.of("b").hold("journalBytes", 1)).toBe(true);
    one.release("journalBytes", TENANT_HELD.journalBytes);
    expect(other.hold("journalBytes", 1)).toBe(true);
  });

  test("holds no more than the engine may, and then nothing at all", () => {
    const accounts = new TenantAccounts();
    accounts.total.hold("journalBytes", ENGINE_HELD.journalBytes);
    expect(accounts.of("last").hold("journalBytes", 1)).toBe(false);
    expect(accounts.of("last").journalBytes).toBe(0);
    expect(accounts.total.journalBytes).toBe(ENGINE_HELD.journalBytes);
  });

  test("finds room for a tenant that holds nothing, however much others hold", () => {
    const accounts = new TenantAccounts();
    const piece = TENANT_HELD.journalBytes / 256;
    for (let at = 0; at < 50; at++) while (accounts.of(`${at}`).hold("journalBytes", piece));
    expect(accounts.of("0").journalBytes).toBe(TENANT_HELD.journalBytes);
    expect(accounts.of("honest").hold("journalBytes", piece)).toBe(true);
  });
});

describe("the accounts of tenants", () => {
  test("forget a tenant that was idle for an hour, and keep what all have used", () => {
    let nowMs = 0;
    const accounts = new TenantAccounts(() => nowMs);
    accounts.of("idle").spendMain(5);
    accounts.of("holding").hold("journalBytes", 1);
    for (; nowMs < 2 * HOUR_MS; nowMs += HOUR_MS / 4) accounts.of(`made at ${nowMs}`);
    expect(accounts.find("idle")).toBeUndefined();
    expect(accounts.find("holding")).toBeDefined();
    expect(accounts.total.mainMs).toBe(5);
  });

  test("keep a tenant that calls", () => {
    let nowMs = 0;
    const accounts = new TenantAccounts(() => nowMs);
    for (; nowMs < 3 * HOUR_MS; nowMs += HOUR_MS / 4) {
      accounts.of("busy").spendExecutor(1);
      accounts.of(`made at ${nowMs}`);
    }
    expect(accounts.of("busy").executorMs).toBe(12);
  });

  test("are ten thousand at most, and none that holds something is forgotten", () => {
    const accounts = new TenantAccounts();
    accounts.of("holding").hold("inFlightBytes", 1);
    for (let at = 0; at < 12_000; at++) accounts.of(`${at}`);
    expect(accounts.size).toBe(10_000);
    expect(accounts.find("holding")?.inFlightBytes).toBe(1);
  });
});
