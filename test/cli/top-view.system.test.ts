import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { visible } from "../../src/cli/output.ts";
import type { Snapshot } from "../../src/cli/stats-feed.ts";
import { describeSnapshot, renderTop, type TopView } from "../../src/cli/top-view.ts";

const SNAPSHOT: Snapshot = {
  time: "2026-01-02T03:04:05.678Z",
  uptimeMs: 93_784_000,
  state: "open",
  calls: { perSecond: 1_234.56, errorsPerSecond: 0.5, p50Ms: 1.234, p95Ms: 56.78, p99Ms: null },
  queued: 12,
  running: 3,
  executor: {
    kind: "process",
    ready: false,
    problem: null,
    spareReady: true,
    rssBytes: 300 * 1024 ** 2,
    sandbox: { kind: "off", reason: "a test" },
  },
  isolates: { active: 1, warm: 2, blank: 3 },
  restarts: 4,
  quarantined: ["bad", "worse"],
  needLogin: [],
  problems: [],
  tools: [
    { name: "busy", callsPerSecond: 100, errorsPerSecond: 0, cpuMsPerSecond: 5, p99Ms: 1 },
    { name: "hungry", callsPerSecond: 10, errorsPerSecond: 1, cpuMsPerSecond: 900, p99Ms: 2_000 },
    { name: "broken", callsPerSecond: 1, errorsPerSecond: 50, cpuMsPerSecond: 1, p99Ms: null },
  ],
  http: { connections: 7, streams: 2 },
};

const VIEW: TopView = { origin: "http://a", columns: 80, rows: 24, order: "calls", history: [SNAPSHOT], problem: null };

function toolsIn(lines: readonly string[]): string[] {
  return lines.flatMap((line) => /^(?:busy|hungry|broken)/.exec(line)?.[0] ?? []);
}

const FLEET = {
  machines: 1,
  slots: 8,
  busySlots: 3,
  waitingJobs: 2,
  isRedisUp: true,
  problem: null,
  seen: [
    {
      id: "machine-0123456789abcdef",
      host: "worker-1",
      state: "ready",
      slots: 8,
      busySlots: 3,
      protocols: [1],
      isSandboxed: true,
      silentMs: 400,
    },
    {
      id: "machine-fedcba9876543210",
      host: "\u202eevil\u001b[2J",
      state: "draining",
      slots: 8,
      busySlots: 0,
      protocols: [2, 1],
      isSandboxed: false,
      silentMs: 4_000,
    },
  ],
  unlisted: 7,
  unreadable: 5,
} as const;

describe("the fleet of a server that has one", () => {
  const snapshot = { ...SNAPSHOT, executor: { ...SNAPSHOT.executor, kind: "queue", fleet: FLEET } };

  test("is on the screen, with its machines after the tools", () => {
    const lines = renderTop(snapshot, { ...VIEW, rows: 40 });
    expect(lines).toContain("fleet       1 machine   3/8 slots busy   2 waiting   Redis up   5 unreadable");
    expect(lines).toContain("machine-0123456789abcdef  ready           3/8       1         0.4 s   worker-1");
    expect(lines).toContain("and 7 more");
    expect(lines.findIndex((line) => line.startsWith("broken"))).toBeLessThan(
      lines.findIndex((line) => line.startsWith("machine-")),
    );
  });

  test("has machines whose names are shown and not obeyed", () => {
    const said = describeSnapshot(snapshot, "http://a").join("\n");
    expect(said).toContain("draining        0/8       2,1       4.0 s   \\u202eevil\\u001b[2J  no sandbox");
  });

  test("says why no calls run", () => {
    const problem = "Redis has not been reached since 2026-01-01T00:00:00Z (ECONNREFUSED), and so on";
    const fleet = { ...FLEET, isRedisUp: false, problem };
    const lines = renderTop({ ...snapshot, executor: { ...snapshot.executor, fleet } }, VIEW);
    expect(lines).toContain("            Redis has not been reached since 2026-01-01T00:00:00Z");
    expect(lines).toContain("            (ECONNREFUSED), and so on");
    expect(lines.join()).toContain("NO REDIS");
  });
});

test("what somebody has to mend is shown, and not obeyed", () => {
  const problem = `The configuration was not reloaded: \u001b[2J${"the reason is long ".repeat(10)}`;
  const lines = renderTop({ ...SNAPSHOT, problems: [problem] }, VIEW);
  const at = lines.findIndex((line) => line.startsWith("problem     The configuration was not reloaded"));
  expect(at).toBeGreaterThan(0);
  expect(lines[at + 1]).toMatch(/^ {12}the reason is long/);
  expect(lines.join("")).not.toContain("\u001b");
});

describe("a screen", () => {
  test("says what the snapshot does", () => {
    const text = renderTop(SNAPSHOT, VIEW).join("\n");
    for (const said of [
      "http://a   open   up 1d 2h   2026-01-02T03:04:05.678Z",
      "1,235/s   0.5 errors/s",
      "p50 1.23 ms   p95 56.8 ms   p99 -",
      "12 waiting   3 running",
      "process, NOT READY, spare ready, no sandbox",
      "memory 300 MiB   4 restarts",
      "1 active   2 warm   3 blank",
      "7 connections   2 streams",
      "2: bad, worse",
    ]) {
      expect(text).toContain(said);
    }
  });

  test.each([
    ["calls", ["busy", "hungry", "broken"]],
    ["cpu", ["hungry", "busy", "broken"]],
    ["errors", ["broken", "hungry", "busy"]],
  ] as const)("has the tools in order of %s", (order, tools) => {
    expect(toolsIn(renderTop(SNAPSHOT, { ...VIEW, order }))).toEqual(tools);
  });

  test("draws what was, the greatest as the highest bar", () => {
    const history = [0, 50, 100].map((perSecond) => ({ ...SNAPSHOT, calls: { ...SNAPSHOT.calls, perSecond } }));
    expect(renderTop(SNAPSHOT, { ...VIEW, history }).find((line) => line.startsWith("calls/s"))).toMatch(/ ▁▅█$/);
  });

  test("says in its last line why there is nothing newer", () => {
    expect(renderTop(SNAPSHOT, { ...VIEW, problem: "the connection was lost" }).at(-1)).toBe("the connection was lost");
  });

  test("of any size holds all of its lines, whatever tools are called", () => {
    const name = fc.oneof(fc.string({ maxLength: 100 }), fc.constant("\u001b[2J\u202e\r\n\t"));
    const size = { columns: fc.integer({ min: 1, max: 300 }), rows: fc.integer({ min: 1, max: 100 }) };
    fc.assert(
      fc.property(fc.record(size), fc.array(name, { maxLength: 20 }), ({ columns, rows }, names) => {
        const tools = names.map((one) => ({ ...SNAPSHOT.tools[0], name: one }) as Snapshot["tools"][number]);
        const history = Array.from({ length: 400 }, () => SNAPSHOT);
        const snapshot = { ...SNAPSHOT, tools, quarantined: names };
        const lines = renderTop(snapshot, { ...VIEW, columns, rows, history });
        expect(lines.length).toBe(rows);
        expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe("a visible text", () => {
  test("has nothing that a terminal would obey", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(visible(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
    expect(visible("a\u001b[2Jb\u202ec")).toBe("a\\u001b[2Jb\\u202ec");
  });

  test("has what can be read as it is", () => {
    expect(visible("add ▁▅█ Zoë, 工具")).toBe("add ▁▅█ Zoë, 工具");
  });
});
