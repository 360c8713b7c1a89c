import { expect, test } from "vitest";
import { Quarantine } from "../../../../src/kernel/executor/process/quarantine.ts";

const TOOL = { name: "tool" };
const PROBE = { kind: "apart", isProbe: true, isOwn: true };
const APART = { kind: "apart", isProbe: false, isOwn: true };
/** The process of those whose own calls did not crash. */
const WATCHED = { ...APART, isOwn: false };
const MAIN = { kind: "main" };

/** A quarantine whose clock the test moves, and where a tenant's calls of the tool are refused. */
function refusing(tenant = "t") {
  let nowMs = 0;
  const quarantine = new Quarantine(() => nowMs);
  for (let strike = 0; strike < 3; strike++) quarantine.strike(TOOL, tenant);
  return { quarantine, pass: (ms: number) => (nowMs += ms) };
}

test("a tool runs among the others until it ends an executor, and then apart", () => {
  const quarantine = new Quarantine();
  expect(quarantine.admit(TOOL, "t")).toEqual(MAIN);
  expect(quarantine.strike(TOOL, "t")).toEqual({ strikes: 1, openMs: 0 });
  expect(quarantine.admit(TOOL, "t")).toEqual(APART);
  expect(quarantine.admit({ name: "other" }, "t")).toEqual(MAIN);
  expect(quarantine.tools).toEqual(["tool"]);
});

test("the third strike refuses the tool to the tenant whose calls did it, and to nobody else", () => {
  const { quarantine } = refusing();
  expect(quarantine.admit(TOOL, "t")).toEqual({ kind: "refused", retryAfterMs: 30_000 });
  expect(quarantine.refusedForMs(TOOL, "t")).toBe(30_000);
  expect(quarantine.admit(TOOL, "u")).toEqual(WATCHED);
  expect(quarantine.refusedForMs(TOOL, "u")).toBe(0);
});

test("when that is over one call may try, and the others wait for how it ends", () => {
  const { quarantine, pass } = refusing();
  pass(30_001);
  expect(quarantine.refusedForMs(TOOL, "t")).toBe(0);
  expect(quarantine.admit(TOOL, "t")).toEqual(PROBE);
  expect(quarantine.admit(TOOL, "t")).toMatchObject({ kind: "refused" });
  quarantine.endProbe(TOOL, "t", true);
  expect(quarantine.admit(TOOL, "t")).toEqual(WATCHED);
});

test("a probe that neither failed nor did well leaves the next call to try", () => {
  const { quarantine, pass } = refusing();
  pass(30_001);
  quarantine.admit(TOOL, "t");
  quarantine.endProbe(TOOL, "t", false);
  expect(quarantine.admit(TOOL, "t")).toEqual(PROBE);
});

test("a probe that ends its executor refuses the tool again at once, and for twice as long each time", () => {
  const { quarantine, pass } = refusing();
  let refusedMs = 30_000;
  for (const openMs of [60_000, 120_000, 240_000, 480_000, 600_000, 600_000]) {
    pass(refusedMs + 1);
    quarantine.admit(TOOL, "t");
    expect(quarantine.strike(TOOL, "t").openMs).toBe(openMs);
    quarantine.endProbe(TOOL, "t", false);
    expect(quarantine.refusedForMs(TOOL, "t")).toBe(openMs);
    refusedMs = openMs;
  }
});

test("calls that had started before it was refused do not make that longer", () => {
  const { quarantine } = refusing();
  expect(quarantine.strike(TOOL, "t")).toEqual({ strikes: 3, openMs: 0 });
  expect(quarantine.refusedForMs(TOOL, "t")).toBe(30_000);
});

test("strikes that lie too far back are forgotten", () => {
  let nowMs = 0;
  const quarantine = new Quarantine(() => nowMs);
  for (let strike = 0; strike < 10; strike++) {
    expect(quarantine.strike(TOOL, "t")).toEqual({ strikes: 1, openMs: 0 });
    nowMs += 60_001;
  }
});

test("enough clean calls let a tool run among the others again", () => {
  const quarantine = new Quarantine();
  quarantine.strike(TOOL, "t");
  const cleared = Array.from({ length: 21 }, () => quarantine.clean(TOOL, "t"));
  expect(cleared.indexOf("tool")).toBe(19);
  expect(cleared.lastIndexOf("tool")).toBe(19);
  expect(quarantine.admit(TOOL, "t")).toEqual(MAIN);
  expect(quarantine.tools).toEqual([]);
});

test("a strike in between makes it earn that anew", () => {
  const quarantine = new Quarantine();
  quarantine.strike(TOOL, "t");
  for (let call = 0; call < 19; call++) quarantine.clean(TOOL, "t");
  quarantine.strike(TOOL, "t");
  expect(quarantine.clean(TOOL, "t")).toBe("none");
  expect(quarantine.admit(TOOL, "t")).toEqual(APART);
});

test("other tenants' clean calls do not make up for what a tenant did", () => {
  const { quarantine } = refusing();
  for (let call = 0; call < 20; call++) quarantine.clean(TOOL, "u");
  expect(quarantine.admit(TOOL, "u")).toEqual(MAIN);
  expect(quarantine.admit(TOOL, "t")).toMatchObject({ kind: "refused" });
});

test("further crashes of a tenant change nothing for tenants whose calls were clean, nor once the tool is cleared", () => {
  const quarantine = new Quarantine();
  quarantine.strike(TOOL, "t");
  for (let call = 0; call < 20; call++) quarantine.clean(TOOL, "u");
  quarantine.strike(TOOL, "t");
  expect(quarantine.admit(TOOL, "t")).toEqual(APART);
  expect(quarantine.admit(TOOL, "u")).toEqual(MAIN);
  expect(quarantine.admit(TOOL, "new")).toEqual(MAIN);
  expect(quarantine.tools).toEqual(["tool"]);
  quarantine.strike(TOOL, "new");
  expect(quarantine.admit(TOOL, "newer")).toEqual(WATCHED);
  expect(quarantine.admit(TOOL, "u")).toEqual(MAIN);
});

test("one clean call lets a tenant without strikes run among the others, and twenty one that has some", () => {
  const quarantine = new Quarantine();
  quarantine.strike(TOOL, "t");
  expect(quarantine.admit(TOOL, "u")).toEqual(WATCHED);
  expect(quarantine.clean(TOOL, "u")).toBe("tenant");
  expect(quarantine.admit(TOOL, "u")).toEqual(MAIN);
  expect(quarantine.admit(TOOL, "v")).toEqual(WATCHED);
  for (let call = 0; call < 10; call++) quarantine.clean(TOOL, "t");
  quarantine.strike(TOOL, "u");
  expect(quarantine.admit(TOOL, "u")).toEqual(APART);
  for (let call = 10; call < 19; call++) expect(quarantine.clean(TOOL, "t")).toBe("none");
  expect(quarantine.clean(TOOL, "t")).toBe("tenant");
  expect(quarantine.admit(TOOL, "t")).toEqual(MAIN);
});

test("a tenant whose strikes lie too far back is one of the others", () => {
  let nowMs = 0;
  const quarantine = new Quarantine(() => nowMs);
  quarantine.strike(TOOL, "t");
  for (let call = 0; call < 20; call++) quarantine.clean(TOOL, "u");
  expect(quarantine.admit(TOOL, "t")).toEqual(APART);
  nowMs += 60_001;
  expect(quarantine.admit(TOOL, "t")).toEqual(MAIN);
  expect(quarantine.tools).toEqual([]);
});

test("it remembers a bounded number of tools and tenants", () => {
  const quarantine = new Quarantine();
  for (let tool = 0; tool < 10_050; tool++) quarantine.strike({ name: `tool-${tool}` }, "t");
  expect(quarantine.tools).toHaveLength(10_000);
  expect(quarantine.tools.at(-1)).toBe("tool-10049");
  for (let tenant = 0; tenant < 1_050; tenant++) {
    for (let strike = 0; strike < 3; strike++) quarantine.strike(TOOL, `${tenant}`);
  }
  expect(quarantine.refusedForMs(TOOL, "0")).toBe(0);
  expect(quarantine.refusedForMs(TOOL, "1049")).toBeGreaterThan(0);
});

test("strikes of a version count neither against another one nor against another registrant's tool of its name", () => {
  const quarantine = new Quarantine();
  const struck = { name: "tool", registrant: "key:a", digest: "1" };
  quarantine.strike(struck, "t");
  expect(quarantine.admit(struck, "t")).toEqual(APART);
  expect(quarantine.admit({ ...struck, digest: "2" }, "t")).toEqual(MAIN);
  expect(quarantine.admit({ ...struck, registrant: "key:b" }, "t")).toEqual(MAIN);
  expect(quarantine.tools).toEqual(["tool"]);
});
