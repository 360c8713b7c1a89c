import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, closeSync, constants, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  Audit,
  type AuditEntry,
  type AuditRecord,
  type AuditTarget,
  WAITING_MAX,
} from "../../../../src/kernel/engine/telemetry/audit.ts";
import {
  capabilityEvent,
  type CapabilityEvent,
  type CapabilityOutcome,
} from "../../../../src/kernel/broker/capability-event.ts";
import { type AuditDown, type AuditDrop, Events } from "../../../../src/kernel/engine/telemetry/events.ts";
import { temporaryFolder } from "../../tool/temporary.ts";

interface World {
  readonly events: Events;
  readonly audit: Audit;
  readonly drops: AuditDrop[];
  readonly tell: (event: CapabilityEvent) => void;
}

function open(target: AuditTarget): World {
  const events = new Events();
  const drops: AuditDrop[] = [];
  events.on("audit:drop", (drop) => drops.push(drop));
  const audit = new Audit(target, events);
  onTestFinished(() => audit.close());
  return { events, audit, drops, tell: (event) => events.emit("capability:call", event) };
}

interface Told {
  readonly step?: number;
  readonly args?: string;
  readonly outcome?: CapabilityOutcome;
  readonly rules?: readonly number[];
  readonly parentId?: string;
  readonly method?: string;
}

function event({ step = 1, args = '{"a":1}', outcome = "ok", rules = [0], parentId, method = "get" }: Told = {}) {
  const ask = { step, attempt: 1, nowMs: 0, capability: "kv", method, args };
  const subject = { callId: "c", parentId, tool: "t", tenant: "acme" };
  return capabilityEvent(subject, ask, outcome, { rules, answerLength: 4, durationMs: 1.234_567 });
}

function linesOf(text: string): (AuditEntry & Partial<AuditDrop>)[] {
  expect(text.endsWith("\n") || text === "").toBe(true);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AuditEntry);
}

const droppedOf = (drops: readonly Partial<AuditDrop>[]) => drops.reduce((sum, { dropped = 0 }) => sum + dropped, 0);

/** A pipe with a name, and a reader that reads when it is told to. */
async function openPipe() {
  const path = join(await temporaryFolder(), "pipe");
  execFileSync("sh", ["-c", 'mkfifo "$0"', path]);
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(file));
  const buffer = Buffer.alloc(65_536);
  let text = "";
  const read = (): string => {
    try {
      for (let length = -1; length !== 0;) {
        length = readSync(file, buffer);
        text += buffer.toString("latin1", 0, length);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
    return text;
  };
  return { path, read };
}

describe("an entry", () => {
  test("says who asked for what, when, and what came of it, on a line of its own", async () => {
    const path = join(await temporaryFolder(), "audit.jsonl");
    const { audit, tell } = open(path);
    tell(event({ rules: [0, 2], parentId: "p" }));
    tell(event({ step: 2, method: 'a\n"b' }));
    await audit.close();
    const lines = linesOf(readFileSync(path, "utf8"));
    expect(lines).toEqual([
      {
        time: expect.any(String),
        callId: "c",
        parentId: "p",
        tool: "t",
        tenant: "acme",
        step: 1,
        capability: "kv",
        method: "get",
        argsHash: createHash("sha256").update('{"a":1}').digest("hex"),
        argsLength: 7,
        answerLength: 4,
        durationMs: 1.235,
        outcome: "ok",
        decision: "granted",
        rules: [0, 2],
      },
      expect.objectContaining({ step: 2, method: 'a\n"b' }),
    ]);
    expect(lines[1]).not.toHaveProperty("parentId");
    expect(new Date(lines[0]?.time ?? "").toISOString()).toBe(lines[0]?.time);
  });

  test.each([
    ["ok", [1], "granted"],
    ["failed", [1], "granted"],
    ["replayed", [1], "granted"],
    ["denied", [], "denied"],
    ["denied", [1], "denied"],
    ["limit", [1], "limit"],
    ["failed", [], "none"],
    ["diverged", [], "none"],
  ] as const)("whose call ended as %s by the rules %j has the decision %s", async (outcome, rules, decision) => {
    const entries: unknown[] = [];
    const { audit, tell } = open((entry) => entries.push(entry));
    tell(event({ outcome, rules }));
    await audit.close();
    expect(entries).toEqual([expect.objectContaining({ outcome, decision, rules })]);
  });

  test("is hashed when it is written and not before, unless too much waits to be hashed", async () => {
    const { audit, tell } = open(() => undefined);
    const hashed: string[] = [];
    const large = (name: string, length: number) => {
      const made = event({ args: "x".repeat(length) });
      Object.defineProperty(made, "argsHash", { get: () => (hashed.push(name), name) });
      return made;
    };
    tell(large("first", 16 * 1024 * 1024));
    expect(hashed).toEqual([]);
    tell(large("too much", 1));
    expect(hashed).toEqual(["too much"]);
    await audit.close();
    expect(hashed).toEqual(["too much", "first"]);
  });

  test("names nobody at any length", async () => {
    const entries: unknown[] = [];
    const { audit, tell } = open((entry) => entries.push(entry));
    tell(event({ method: "m".repeat(1_000_000) }));
    await audit.close();
    expect(entries).toEqual([expect.objectContaining({ method: "m".repeat(1_024) })]);
  });
});

describe("a file", () => {
  test("is made for its owner alone, and appended to where it is there", async () => {
    const path = join(await temporaryFolder(), "audit.jsonl");
    const first = open(path);
    first.tell(event({ step: 1 }));
    await first.audit.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    appendFileSync(path, '{"step":2}\n');
    const second = open(path);
    second.tell(event({ step: 3 }));
    await second.audit.close();
    expect(linesOf(readFileSync(path, "utf8")).map(({ step }) => step)).toEqual([1, 2, 3]);
  });

  test("keeps a line that was cut off apart from the next one", async () => {
    const path = join(await temporaryFolder(), "audit.jsonl");
    appendFileSync(path, '{"step":1}\n{"st');
    const { audit, tell } = open(path);
    tell(event({ step: 2 }));
    tell(event({ step: 3 }));
    await audit.close();
    const lines = readFileSync(path, "utf8").split("\n");
    expect(lines.slice(0, 2)).toEqual(['{"step":1}', '{"st']);
    expect(linesOf(lines.slice(2).join("\n")).map(({ step }) => step)).toEqual([2, 3]);
  });

  test("has every entry in order where they come fast, and all of them after closing", async () => {
    const path = join(await temporaryFolder(), "audit.jsonl");
    const { audit, drops, tell } = open(path);
    const count = 3_000;
    for (let step = 1; step <= count; step++) tell(event({ step }));
    await audit.close();
    const steps = linesOf(readFileSync(path, "utf8")).map(({ step }) => step);
    expect(steps).toEqual(Array.from({ length: count }, (_, at) => at + 1));
    expect(drops).toEqual([]);
  });

  test("keeps nothing waiting that is written without closing", async () => {
    const path = join(await temporaryFolder(), "audit.jsonl");
    const { tell } = open(path);
    for (let step = 1; step <= 3; step++) {
      tell(event({ step }));
      await expect.poll(() => linesOf(readFileSync(path, "utf8")).length).toBe(step);
    }
  });

  test("that cannot be opened is refused at once, with the reason and without its path in the message", async () => {
    const path = join(await temporaryFolder(), "nowhere", "audit.jsonl");
    expect(() => open(path)).toThrow(/^the audit file cannot be opened: ENOENT$/);
  });

  test.each([[""], [5], [{}]])("cannot be %j", (target) => {
    expect(() => open(target as string)).toThrow("a file or a function");
  });
});

describe("a disk that is full", () => {
  test("holds nobody up: what it did not take is counted, told, and given up when closing", async () => {
    const { audit, drops, tell } = open("/dev/full");
    for (let step = 1; step <= 1_000; step++) tell(event({ step }));
    await audit.close();
    expect(droppedOf(drops)).toBe(1_000);
    expect(new Date(drops[0]?.since ?? "").getTime()).toBeGreaterThan(0);
  });

  /** Found by the table of faults: nobody was told before 10,000 entries waited. */
  test("is told of while it lasts", async () => {
    const { events, tell } = open("/dev/full");
    const told = new Promise<AuditDown>((resolve) => events.on("audit:down", resolve));
    tell(event({ step: 1 }));
    expect(await told).toEqual({ code: "ENOSPC", downMs: expect.any(Number) });
  });

  test("counts what came after closing as well", async () => {
    const { audit, drops, tell } = open("/dev/full");
    await audit.close();
    tell(event());
    await expect.poll(() => droppedOf(drops)).toBe(1);
  });
});

describe("a pipe", () => {
  test("that nobody reads takes what it can, and what has no room is told where it would have been", async () => {
    const { path, read } = await openPipe();
    const { audit, drops, tell } = open(path);
    let last = 0;
    const tellMany = (count: number) => {
      for (let at = 0; at < count; at++) tell(event({ step: ++last }));
    };
    tellMany(WAITING_MAX + 2_000);
    await expect.poll(() => droppedOf(drops)).toBe(2_000);
    tellMany(1_000);
    await expect.poll(() => droppedOf(drops)).toBeGreaterThan(2_000);
    await expect.poll(() => read().endsWith(`"since":"${drops.at(-1)?.since}"}\n`), { timeout: 60_000 }).toBe(true);
    tellMany(1);
    await audit.close();
    let next = 1;
    for (const { step, dropped, since } of linesOf(read())) {
      if (dropped === undefined) expect(step).toBe(next++);
      else {
        expect(since).toEqual(expect.any(String));
        next += dropped;
      }
    }
    expect(next).toBe(last + 1);
    expect(droppedOf(linesOf(read()))).toBe(droppedOf(drops));
  });

  test("that nobody ever reads does not keep the audit from closing, and all that is missing is counted", async () => {
    const { path, read } = await openPipe();
    const { audit, drops, tell } = open(path);
    for (let step = 1; step <= 5_000; step++) tell(event({ step }));
    await audit.close();
    const whole = read().split("\n").length - 1;
    expect(whole).toBeGreaterThan(0);
    expect(whole + droppedOf(drops)).toBe(5_000);
  });

  test("that has no reader at all is refused, and holds no thread", async () => {
    const path = join(await temporaryFolder(), "pipe");
    execFileSync("sh", ["-c", 'mkfifo "$0"', path]);
    expect(() => open(path)).toThrow("cannot be opened");
  });
});

const stepOf = (entry: AuditRecord): number | undefined => ("step" in entry ? entry.step : undefined);

describe("a function", () => {
  test("gets entries after whoever asked has gone on", async () => {
    const entries: unknown[] = [];
    const { audit, tell } = open((entry) => entries.push(stepOf(entry)));
    for (let step = 1; step <= 600; step++) tell(event({ step }));
    expect(entries).toEqual([]);
    await audit.close();
    expect(entries).toEqual(Array.from({ length: 600 }, (_, at) => at + 1));
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("no"))],
  ])("that %s harms nobody, and its entries are counted as lost", async (_what, fail) => {
    const entries: unknown[] = [];
    const { audit, drops, tell } = open((entry) => {
      if (stepOf(entry) !== 2) return void entries.push(stepOf(entry));
      return fail();
    });
    for (const step of [1, 2, 3]) tell(event({ step }));
    await audit.close();
    expect(entries).toEqual([1, 3]);
    await expect.poll(() => droppedOf(drops)).toBe(1);
  });
});
