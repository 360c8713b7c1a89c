import { settled, type Stage, wordsOf } from "../stage.ts";
import type { Scene } from "./scene.ts";

const WALL_MS = 3_000;

/** Calls a tool for a tenant, and gives its output or, where it failed, its code. */
async function ask(stage: Stage, name: string, tenant: string, args: Record<string, unknown> = {}): Promise<unknown> {
  const result = await settled(stage.engine.execute({ name, arguments: args }, { tenant }));
  return result === undefined ? "no answer" : (result.error?.code ?? result.output);
}

function expectSame(harm: string[], what: string, got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) harm.push(`${what}: ${JSON.stringify(got)}`);
}

/** One tenant attacks, and others call the same tool. */
export const SCENES: readonly Scene[] = [
  {
    name: "what a tenant keeps in a shared module",
    act: async (stage, harm) => {
      const source = "let kept = 'nothing'; export default ({ keep }) => { if (keep) kept = keep; return kept; };";
      const tool = await stage.put(source, { isolation: "shared" });
      expectSame(harm, "its own", await ask(stage, tool, "a", { keep: "secret" }), "secret");
      for (const other of ["b", "", "a ", " a", "A", "a\tb", "a\n", "__proto__", "\u0000"]) {
        expectSame(harm, `tenant ${JSON.stringify(other)}`, await ask(stage, tool, other), "nothing");
      }
      expectSame(harm, "its own again", await ask(stage, tool, "a"), "secret");
    },
  },
  {
    name: "symbols, caches and statics that one tenant leaves for another",
    act: async (stage, harm) => {
      const source = `export default ({ leave }) => {
        const symbol = Symbol.for('registry');
        if (leave) { for (const o of [symbol, Object, globalThis, Intl, Error]) { try { o.left = 1; } catch {} } /(secret)/.exec('a secret'); (0, eval)('var left = 1'); }
        return [typeof globalThis.left, typeof Object.left, typeof left, String(RegExp.$1), typeof Error.left];
      };`;
      const tool = await stage.put(source, { isolation: "shared" });
      await ask(stage, tool, "a", { leave: true });
      const clean = ["undefined", "undefined", "undefined", "undefined", "undefined"];
      expectSame(harm, "another tenant", await ask(stage, tool, "b"), clean);
    },
  },
  {
    name: "a tenant whose loops end isolates while others wait in theirs",
    act: async (stage, harm) => {
      const source = `export default async ({ n, hostile }) => {
        await new Promise((done) => setTimeout(done, hostile ? 20 : 400));
        if (hostile) for (;;);
        return n;
      };`;
      const tool = await stage.put(source, { limits: { cpuMs: 100, wallMs: WALL_MS } });
      const calm = Array.from({ length: 10 }, (_, n) => ask(stage, tool, `calm-${n % 3}`, { n }));
      const wild = Array.from({ length: 4 }, () => ask(stage, tool, "wild", { n: 0, hostile: true }));
      expectSame(
        harm,
        "the calm tenants",
        await Promise.all(calm),
        Array.from({ length: 10 }, (_, n) => n),
      );
      expectSame(
        harm,
        "the wild tenant",
        await Promise.all(wild),
        Array.from({ length: 4 }, () => "cpu_limit"),
      );
    },
  },
  {
    name: "a tenant whose call costs the process, beside another's calls of the same tool",
    act: async (stage, harm) => {
      const source = `export default async ({ n, hostile }) => {
        await new Promise((done) => setTimeout(done, hostile ? 20 : 300));
        if (hostile) Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);
        return n;
      };`;
      const tool = await stage.put(source, { limits: { cpuMs: 100, wallMs: 5_000 } });
      const calm = Array.from({ length: 10 }, (_, n) => ask(stage, tool, "calm", { n }));
      expectSame(harm, "the wild tenant", await ask(stage, tool, "wild", { n: 0, hostile: true }), "cpu_limit");
      expectSame(
        harm,
        "the calm tenant",
        await Promise.all(calm),
        Array.from({ length: 10 }, (_, n) => n),
      );
      expectSame(harm, "the calm tenant's next call", await ask(stage, tool, "calm", { n: 7 }), 7);
    },
  },
  {
    name: "a flood of one tenant's calls before another's single one",
    act: async (stage, harm) => {
      const source = "export default ({ n }) => { for (let i = 0; i < 1e6; i++); return n; };";
      const tool = await stage.put(source);
      const flood = Array.from({ length: 2_000 }, (_, n) => ask(stage, tool, "flood", { n }));
      let ended = 0;
      for (const call of flood) void call.then(() => ended++);
      expectSame(harm, "the other tenant", await ask(stage, tool, "single", { n: 1 }), 1);
      // Fair: it did not wait until all of the others had had their turns.
      if (ended === flood.length) harm.push("the single call came last");
      await Promise.all(flood);
    },
  },
  {
    name: "names of tenants that are a key of something else",
    act: async (stage, harm) => {
      const tool = await stage.put("export default ({ n }) => n;");
      for (const tenant of ["constructor", "__proto__", "toString", "1 2", "x".repeat(10_000), "\ud800", "\u2028"]) {
        expectSame(harm, tenant.slice(0, 20), await ask(stage, tool, tenant, { n: 1 }), 1);
      }
      const odd = await settled(stage.engine.execute({ name: tool, arguments: {} }, { tenant: {} as string }));
      if (odd?.error?.code !== "invalid_arguments") harm.push(`a tenant that is an object: ${wordsOf(odd)}`);
    },
  },
];
