import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  fairLookup,
  lookingTenant,
  lookingUpFor,
} from "../../../../../src/kernel/broker/capabilities/fetch/lookups.ts";
import { Session } from "./session.ts";

test("behind a tenant's many slow names, another's name waits for one of them, and not for all", async () => {
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  const lookup = fairLookup((name) => {
    asked.push(name);
    return new Promise((resolve) => ends.push(() => resolve([name])));
  }, 2);
  const slow = Array.from({ length: 20 }, (_, at) => lookingUpFor("greedy", () => lookup(`slow${at}`)));
  const other = lookingUpFor("modest", () => lookup("other"));
  await nextTurn();
  expect(asked).toEqual(["slow0", "slow1"]);
  ends[0]?.();
  expect(await slow[0]).toEqual(["slow0"]);
  await nextTurn();
  expect(asked).toEqual(["slow0", "slow1", "other"]);
  for (let at = 1; at <= slow.length; at++) {
    await expect.poll(() => ends.length).toBeGreaterThan(at);
    ends[at]?.();
  }
  expect(await other).toEqual(["other"]);
  expect(await Promise.all(slow)).toHaveLength(20);
});

test("names of requests and of WebSockets are looked up for their tenant", async () => {
  const tenants: string[] = [];
  const lookup = (): Promise<readonly string[]> => {
    tenants.push(lookingTenant());
    return Promise.resolve(["127.0.0.1"]);
  };
  await using session = new Session({ rules: [{ origins: ["*"] }], tenant: "acme", lookup });
  await expect(session.request("https://a.example/")).rejects.toThrow("not public");
  await expect(session.connect("wss://b.example/")).rejects.toThrow("not public");
  expect(tenants).toEqual(["acme", "acme"]);
});
