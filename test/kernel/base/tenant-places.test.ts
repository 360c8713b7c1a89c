import { expect, test } from "vitest";
import { TenantPlaces } from "../../../src/kernel/base/tenant-places.ts";

test("a tenant has so many places, and another one its own", () => {
  const places = new TenantPlaces({ ofTenant: 2 });
  const taken = [places.take("a"), places.take("a")];
  expect(places.take("a")).toBeNull();
  expect(places.take("b")).not.toBeNull();
  taken[0]?.[Symbol.dispose]();
  expect(places.take("a")).not.toBeNull();
  expect(places.take("a")).toBeNull();
});

test("all tenants together have so many places", () => {
  const places = new TenantPlaces({ ofTenant: 2, all: 3 });
  const taken = ["a", "a", "b"].map((tenant) => places.take(tenant));
  expect(taken).not.toContain(null);
  expect(places.take("c")).toBeNull();
  taken[2]?.[Symbol.dispose]();
  expect(places.take("c")).not.toBeNull();
});
