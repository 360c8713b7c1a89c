import { expect, test } from "vitest";
import type { LoginStore } from "../../../src/connectors/store/login-store.ts";

/** What a store of logins promises. `open`: another process of the same store. */
export function describeLogins(open: () => Promise<LoginStore>): void {
  test("a login is what was written last, and its version counts its changes", async () => {
    const [store, other] = [await open(), await open()];
    expect(await store.read("crm")).toBeNull();
    expect(await store.write("crm", null, "one")).toBe(1);
    expect(await other.write("crm", null, "two")).toBe(2);
    expect(await store.read("crm")).toEqual({ version: 2, text: "two" });
    expect(await store.read("crm red")).toBeNull();
    expect([await store.remove("crm"), await store.remove("crm")]).toEqual([true, false]);
    expect(await other.read("crm")).toBeNull();
    expect(await store.write("crm", null, "three")).toBe(4);
  });

  test("one owner at a time holds a claim, until it is released, written or over", async () => {
    const [store, other] = [await open(), await open()];
    expect(await store.claim("held", "a", 60_000)).toMatchObject({ isHeld: true, version: 0, login: null });
    expect((await other.claim("held", "b", 60_000)).isHeld).toBe(false);
    await other.release("held", "b");
    expect((await other.claim("held", "b", 60_000)).isHeld).toBe(false);
    await store.release("held", "a");
    expect((await other.claim("held", "b", 60_000)).isHeld).toBe(true);
    expect(await other.extend("held", "b", 200)).toBe(true);
    await expect.poll(async () => (await store.claim("held", "a", 60_000)).isHeld).toBe(true);
    expect(await other.extend("held", "b", 60_000)).toBe(false);
    expect(await store.write("held", { owner: "a", version: 0 }, "new")).toBe(1);
    expect(await other.claim("held", "b", 60_000)).toMatchObject({ isHeld: true, login: { version: 1, text: "new" } });
  });

  test("who renews writes nothing where somebody has logged in meanwhile", async () => {
    const [store, other] = [await open(), await open()];
    await store.write("late", null, "old");
    expect(await store.claim("late", "a", 60_000)).toMatchObject({ isHeld: true, version: 1 });
    await other.write("late", null, "by a person");
    expect(await store.write("late", { owner: "a", version: 1 }, "renewed")).toBeNull();
    expect(await store.read("late")).toEqual({ version: 2, text: "by a person" });
  });

  test("of many that claim at once, one gets it", async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => open()));
    const claims = await Promise.all(stores.map((store, at) => store.claim("many", `owner ${at}`, 60_000)));
    expect(claims.filter(({ isHeld }) => isHeld)).toHaveLength(1);
  });
}
