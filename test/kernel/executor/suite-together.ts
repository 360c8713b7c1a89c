import { describe, expect, test } from "vitest";
import type { CapabilityResponse, CapabilityCall } from "../../../src/kernel/executor/executor.ts";
import { type Bench, script } from "./jobs.ts";

/** What every executor must do where calls of a tool enter their isolate together. */
export function togetherSuite(bench: () => Bench): void {
  const run = (...args: Parameters<Bench["job"]>) => bench().run(bench().job(...args));

  describe("calls that go together", () => {
    /** Runs a tool until it is known to be quick, and then many calls of it at once. */
    async function together(body: string, inputs: readonly unknown[], extra = {}) {
      const tool = script(body);
      // A busy machine may make a quick call look slow: it is tried until calls do go together.
      for (bench().batches.length = 0; Math.max(0, ...bench().batches) < 2;) {
        for (let n = 0; n < 12; n++) await run(tool, { n: 0, warm: true }, extra);
        await Promise.all([1, 2, 3, 4].map(() => run(tool, { n: 0, warm: true }, extra)));
      }
      return Promise.all(inputs.map((input) => run(tool, input, extra)));
    }
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    const inputs = numbers.map((n) => ({ n }));
    const expected = numbers.map((n) => ({ ok: true, json: `${n * 2}` }));

    test.each([
      ["end at once", "({ n }) => n * 2"],
      ["are asynchronous and await nothing", "async ({ n }) => n * 2"],
      ["await what is there already", "async ({ n }) => { await null; await null; return n * 2; }"],
      ["await a timer", "async ({ n }) => { await new Promise((done) => setTimeout(done, 5)); return n * 2; }"],
      [
        "await now and then",
        "({ n }) => n % 3 === 0 ? new Promise((done) => setTimeout(() => done(n * 2), 3)) : n * 2",
      ],
    ])("get each its own answer where they %s", async (_how, body) => {
      const replies = await together(body, inputs);
      expect(replies.map(({ outcome }) => outcome)).toEqual(expected);
      expect(new Set(replies.map(({ attempts }) => attempts))).toEqual(new Set([1]));
    });

    test.each([
      ["throw", "({ n }) => { if (n % 7 === 3) throw new RangeError(`no ${n}`); return n; }"],
      ["reject", "async ({ n }) => { if (n % 7 === 3) throw new RangeError(`no ${n}`); return n; }"],
    ])("keep their errors to themselves where some %s", async (_how, body) => {
      for (const [n, { outcome }] of (await together(body, inputs)).entries()) {
        if (n % 7 === 3)
          expect(outcome).toMatchObject({ ok: false, failure: { code: "tool_error", message: `no ${n}` } });
        else expect(outcome).toEqual({ ok: true, json: `${n}` });
      }
    });

    // Found by a review: each call of a turn was told the same share of its time.
    test("use each their own processor time", async () => {
      const body = "({ n }) => { if (n % 25 === 12) for (let i = 0; i < 5e7; i++) Math.sqrt(i); return n; }";
      const replies = await together(body, inputs, { limits: { cpuMs: 20_000 } });
      const [slow, quick] = [true, false].map((isSlow) =>
        replies.filter((_, n) => (n % 25 === 12) === isSlow).map(({ cpuMs }) => cpuMs),
      );
      expect(Math.min(...(slow ?? []))).toBeGreaterThan(2 * Math.max(...(quick ?? [])));
    });

    test.each([
      ["asynchronous ones each their own", "async ({ n }) => {", (n: number) => `left ${n}`],
      ["those that end at once without the message, which may be another's", "({ n }) => {", () => ""],
    ])("log the rejections that they leave behind, as a call alone does: %s", async (_which, head, message) => {
      const body = `${head} if (n % 2 === 0) Promise.reject(new Error(\`left \${n}\`)); return n; }`;
      let told = 0;
      for (const [n, { logs, outcome }] of (await together(body, inputs)).entries()) {
        expect(outcome).toEqual({ ok: true, json: `${n}` });
        if (n % 2 === 0 && logs.includes(`["warn","unhandled rejection: ${message(n)}`)) told++;
        else if (n % 2 === 0 || head.startsWith("async")) expect(logs).toBe("");
      }
      // isolated-vm does not tell of one turn in some hundreds, of a call that runs alone neither.
      expect(told).toBeGreaterThan(inputs.length / 4);
    });

    test("log each to its own lines", async () => {
      const replies = await together("({ n }) => { if (n % 5 === 0) console.log('line', n); return n; }", inputs);
      for (const [n, { logs, outcome }] of replies.entries()) {
        expect(outcome).toEqual({ ok: true, json: `${n}` });
        expect(logs).toBe(n % 5 === 0 ? `[["log","line ${n}"]]` : "");
      }
    });

    test("ask each for themselves", async () => {
      const ask = ({ args }: CapabilityCall): Promise<CapabilityResponse> =>
        Promise.resolve({ kind: "value", nowMs: Date.now(), json: `${(JSON.parse(args) as { n: number }).n * 2}` });
      const replies = await together("async ({ n }, { host }) => host.math.double({ n })", inputs, { ask });
      expect(replies.map(({ outcome }) => outcome)).toEqual(expected);
    });

    test.each([
      "({ n }) => { if (n === 42) for (;;); return n * 2; }",
      "async ({ n }) => { if (n === 42) for (;;); return n * 2; }",
    ])("end all but the one that does not end: %s", async (body) => {
      const replies = await together(body, inputs, { limits: { cpuMs: 150 } });
      for (const [n, { outcome }] of replies.entries()) {
        if (n === 42) expect(outcome).toMatchObject({ ok: false, failure: { code: "cpu_limit" } });
        else expect(outcome).toEqual({ ok: true, json: `${n * 2}` });
      }
    });

    test("leave nothing behind that runs as another: what a call did not wait for has no console and no say", async () => {
      const body = `({ n }) => {
        if (n % 2 === 0) return new Promise((done) => setTimeout(() => done(n * 2), 2));
        let later = Promise.resolve();
        for (let hop = 0; hop < 9; hop++) {
          later = later.then(() => {
            new Function("return console")().log("left by", n);
            const target = new EventTarget();
            target.addEventListener("x", () => { throw new Error("left by " + n); });
            target.dispatchEvent(new Event("x"));
          });
        }
        return n * 2;
      }`;
      const replies = await together(body, inputs);
      expect(replies.map(({ outcome }) => outcome)).toEqual(expected);
      for (const [n, { logs }] of replies.entries()) if (n % 2 === 0) expect(logs).toBe("");
    });

    test("answer at length without making a message too long", async () => {
      const replies = await together("({ warm }) => warm ? 0 : 'x'.repeat(500_000)", inputs);
      expect(new Set(replies.map(({ outcome }) => (outcome.ok ? outcome.json.length : outcome)))).toEqual(
        new Set([500_002]),
      );
    });
  });

  describe("short calls of one tool that come together", () => {
    /** A tool that is known to be short, so that its calls enter their isolate together. */
    const quick = async (body: string, memoryMb = 64) => {
      const tool = script(body, { memoryMb });
      for (let call = 0; call < 12; call++) await run(tool, { n: call });
      return tool;
    };
    const together = (
      tool: Parameters<typeof run>[0],
      inputs: readonly object[],
      extra: Parameters<typeof run>[2] = {},
    ) => Promise.all(inputs.map((input) => run(tool, input, extra)));
    const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

    test("each get their own output, randomness and console", async () => {
      const tool = await quick("({ n }) => { console.log('call', n); return [n, Math.random()]; }");
      const replies = await together(tool, numbers(200));
      const seen = new Set<number>();
      for (const [n, { outcome, logs }] of replies.entries()) {
        const [own, random] = JSON.parse(outcome.ok ? outcome.json : "[]") as [number, number];
        expect([own, logs]).toEqual([n, `[["log","call ${n}"]]`]);
        seen.add(random);
      }
      expect(seen.size).toBe(200);
    });

    test("keep one's exception its own", async () => {
      const tool = await quick("({ n }) => { if (n === 70) throw new Error('mine'); return n; }");
      const replies = await together(tool, numbers(100));
      const failed = replies.flatMap(({ outcome }, n) => (outcome.ok ? [] : [n]));
      expect(failed).toEqual([70]);
    });

    test.each([
      ["an endless loop", "for (;;);", "cpu_limit", 200],
      ["a storm of microtasks", "(function next() { Promise.resolve().then(next); })();", "cpu_limit", 200],
      // It has to meet the limit of its memory first, however slow the machine is.
      ["a heap bomb", "const all = []; for (;;) all.push([1, 2, 3, 4]);", "memory_limit", 8_000],
    ])("cost one that turns out to be %s its life, and no other", async (_what, hazard, expected, cpuMs) => {
      const tool = await quick(`({ n }) => { if (n === 33) { ${hazard} } return n; }`, 16);
      const replies = await together(tool, numbers(64), { limits: { cpuMs } });
      for (const [n, { outcome }] of replies.entries()) {
        if (n === 33) expect(outcome).toMatchObject({ ok: false, failure: { code: expected } });
        else expect(outcome).toEqual({ ok: true, json: `${n}` });
      }
    });

    test("wait for none that awaits", async () => {
      const tool = await quick("({ n }) => (n % 7 === 3 ? new Promise((d) => setTimeout(d, 20, n)) : n)");
      const replies = await together(tool, numbers(60));
      expect(replies.map(({ outcome }) => outcome)).toEqual(numbers(60).map(({ n }) => ({ ok: true, json: `${n}` })));
    });

    test("leave nothing in another's log that a rejection of theirs says", async () => {
      const tool = await quick("({ n }) => { if (n === 5) Promise.reject(new Error('secret of 5')); return n; }");
      const replies = await together(tool, numbers(40));
      const told = replies.flatMap(({ logs }, n) => (logs.includes("secret") ? [n] : []));
      expect(told.filter((n) => n !== 5)).toEqual([]);
      expect(replies.every(({ outcome }) => outcome.ok)).toBe(true);
    });
  });
}
