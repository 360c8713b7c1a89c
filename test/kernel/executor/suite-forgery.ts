import { describe, expect, test } from "vitest";
import { type Bench, script } from "./jobs.ts";

/** What no tool may do to another one's calls on any executor, whatever it changes in its own realm. */
export function forgerySuite(bench: () => Bench): void {
  const run = (...args: Parameters<Bench["job"]>) => bench().run(bench().job(...args));

  describe("a tool that changes intrinsics in a realm of its own", () => {
    const forged = (run: number) => JSON.stringify(`1\nd\t${run}\t1\t1\t1\t0\t\t"forged"\n`);

    test.each(["context", "isolate"] as const)("cannot speak for another call, at the %s level", async (isolation) => {
      const victim = bench().job(script("() => new Promise((done) => setTimeout(done, 150, 'mine'))"));
      const reply = bench().run(victim);
      const lies = `JSON.stringify = () => ${forged(victim.callNumber)};`;
      const output = await run(script(`() => { ${lies} return 1; }`, { isolation }));
      expect(output.outcome).toMatchObject({ ok: false, failure: { code: "invalid_output" } });
      const asking = script(`(i, { host }) => { ${lies} return host.a.b({}); }`, { isolation });
      expect((await run(asking)).outcome).toMatchObject({ ok: false });
      expect((await reply).outcome).toEqual({ ok: true, json: '"mine"' });
    });

    test.each(["context", "isolate"] as const)("cannot end another call, at the %s level", async (isolation) => {
      const victim = bench().job(script("() => new Promise((done) => setTimeout(done, 150, 'mine'))"));
      const reply = bench().run(victim);
      const steal = `async () => {
        const calls = [];
        const { set } = Map.prototype;
        Map.prototype.set = function (key, value) { calls.push(value); return set.call(this, key, value); };
        await new Promise((done) => setTimeout(done, 1));
        for (const call of calls) try { call.run = ${victim.callNumber}; call.emitOutcome('+"forged"'); } catch {}
        return calls.length;
      }`;
      await run(script(steal, { isolation }), {}, { limits: { wallMs: 100 } });
      expect((await reply).outcome).toEqual({ ok: true, json: '"mine"' });
    });

    test.each([
      ["a malformed failure", "JSON.stringify = () => 'nonsense'; throw new Error('x');"],
      ["a code of the engine's own", 'JSON.stringify = () => \'{"code":"engine_closed","message":"x"}\'; throw 1;'],
    ])("harms only itself with %s", async (_what, body) => {
      const reply = await run(script(`() => { ${body} }`, { isolation: "context" }));
      expect(reply).toMatchObject({ outcome: { ok: false }, attempts: 1 });
      expect(["tool_error", "invalid_output"]).toContain(reply.outcome.ok ? "" : reply.outcome.failure.code);
    });

    test("cannot lie about its module when that is inspected", async () => {
      const before = "Array.prototype.mine = 1; JSON.stringify = () => 'x\\ny';";
      const inspection = await bench().executor.inspect(script("() => 1", { before }));
      expect(inspection).toMatchObject({
        ok: false,
        error: { code: expect.stringMatching(/load_error|invalid_output/) },
      });
    });
  });
}
