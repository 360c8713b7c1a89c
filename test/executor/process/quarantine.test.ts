import { expect, test } from "vitest";
import { Quarantine } from "../../../src/executor/process/quarantine.ts";

const PROBE = { kind: "apart", isProbe: true };
const APART = { kind: "apart", isProbe: false };
const MAIN = { kind: "main" };

/** A quarantine whose clock the test moves, and where a tenant's calls of the tool are refused. */
function refusing(tenant = "t") {
  let nowMs = 0;
  const quarantine = new Quarantine(() => nowMs);
  for (let strike = 0; strike < 3; strike++) quarantine.strike("tool", tenant);
  return { quarantine, pass: (ms: number) => (nowMs += ms) };
}

test("a tool runs among the others until it ends an executor, and then apart", () => {
  const quarantine = new Quarantine();
  expect(quarantine.admit("tool", "t")).toEqual(MAIN);
  expect(quarantine.strike("tool", "t")).toEqual({ strikes: 1, openMs: 0 });
  expect(quarantine.admit("tool", "t")).toEqual(APART);
  expect(quarantine.admit("other", "t")).toEqual(MAIN);
  expect(quarantine.tools).toEqual(["tool"]);
});

test("the third strike refuses the tool to the tenant whose calls did it, and to nobody else", () => {
  const { quarantine } = refusing();
  expect(quarantine.admit("tool", "t")).toEqual({ kind: "refused", retryAfterMs: 30_000 });
  expect(quarantine.refusedForMs("tool", "t")).toBe(30_000);
  expect(quarantine.admit("tool", "u")).toEqual(APART);
  expect(quarantine.refusedForMs("tool", "u")).toBe(0);
});

test("when that is over one call may try, and the others wait for how it ends", () => {
  const { quarantine, pass } = refusing();
  pass(30_001);
  expect(quarantine.refusedForMs("tool", "t")).toBe(0);
  expect(quarantine.admit("tool", "t")).toEqual(PROBE);
  expect(quarantine.admit("tool", "t")).toMatchObject({ kind: "refused" });
  quarantine.endProbe("tool", "t", true);
  expect(quarantine.admit("tool", "t")).toEqual(APART);
});

test("a probe that neither failed nor did well leaves the next call to try", () => {
  const { quarantine, pass } = refusing();
  pass(30_001);
  quarantine.admit("tool", "t");
  quarantine.endProbe("tool", "t", false);
  expect(quarantine.admit("tool", "t")).toEqual(PROBE);
});

test("a probe that ends its executor refuses the tool again at once, and for twice as long each time", () => {
  const { quarantine, pass } = refusing();
  let refusedMs = 30_000;
  for (const openMs of [60_000, 120_000, 240_000, 480_000, 600_000, 600_000]) {
    pass(refusedMs + 1);
    quarantine.admit("tool", "t");
    expect(quarantine.strike("tool", "t").openMs).toBe(openMs);
    quarantine.endProbe("tool", "t", false);
    expect(quarantine.refusedForMs("tool", "t")).toBe(openMs);
    refusedMs = openMs;
  }
});

test("calls that had started before it was refused do not make that longer", () => {
  const { quarantine } = refusing();
  expect(quarantine.strike("tool", "t")).toEqual({ strikes: 3, openMs: 0 });
  expect(quarantine.refusedForMs("tool", "t")).toBe(30_000);
});

test("strikes that lie too far back are forgotten", () => {
  let nowMs = 0;
  const quarantine = new Quarantine(() => nowMs);
  for (let strike = 0; strike < 10; strike++) {
    expect(quarantine.strike("tool", "t")).toEqual({ strikes: 1, openMs: 0 });
    nowMs += 60_001;
  }
});

test("enough clean calls let a tool run among the others again", () => {
  const quarantine = new Quarantine();
  quarantine.strike("tool", "t");
  const cleared = Array.from({ length: 21 }, () => quarantine.clean("tool"));
  expect(cleared.indexOf(true)).toBe(19);
  expect(cleared.lastIndexOf(true)).toBe(19);
  expect(quarantine.admit("tool", "t")).toEqual(MAIN);
  expect(quarantine.tools).toEqual([]);
});

test("a strike in between makes it earn that anew", () => {
  const quarantine = new Quarantine();
  quarantine.strike("tool", "t");
  for (let call = 0; call < 19; call++) quarantine.clean("tool");
  quarantine.strike("tool", "t");
  expect(quarantine.clean("tool")).toBe(false);
  expect(quarantine.admit("tool", "t")).toEqual(APART);
});

test("other tenants' clean calls do not make up for what a tenant did", () => {
  const { quarantine } = refusing();
  for (let call = 0; call < 20; call++) quarantine.clean("tool");
  expect(quarantine.admit("tool", "u")).toEqual(MAIN);
  expect(quarantine.admit("tool", "t")).toMatchObject({ kind: "refused" });
});

test("it remembers a bounded number of tools and tenants", () => {
  const quarantine = new Quarantine();
  for (let tool = 0; tool < 10_050; tool++) quarantine.strike(`tool-${tool}`, "t");
  expect(quarantine.tools).toHaveLength(10_000);
  expect(quarantine.tools.at(-1)).toBe("tool-10049");
  for (let tenant = 0; tenant < 1_050; tenant++) {
    for (let strike = 0; strike < 3; strike++) quarantine.strike("tool", `${tenant}`);
  }
  expect(quarantine.refusedForMs("tool", "0")).toBe(0);
  expect(quarantine.refusedForMs("tool", "1049")).toBeGreaterThan(0);
});
