import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENT_MS } from "../plan.ts";
import { ask, settled, wordsOf } from "../stage.ts";
import type { Scene } from "./scene.ts";

const TRIES_MAX = 50;

/**
 * Which worker a call meets depends on what else runs: a look that meets one on which nothing was left is repeated once
 * there is something.
 */
async function lookAgain(
  look: () => Promise<unknown>,
  leave: () => Promise<unknown>,
  fresh: unknown,
): Promise<unknown> {
  let seen = await look();
  for (let tries = 0; JSON.stringify(seen) === JSON.stringify(fresh) && tries < TRIES_MAX; tries++) {
    await leave();
    seen = await look();
  }
  return seen;
}

function expectSame(harm: string[], what: string, got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) harm.push(`${what}: ${JSON.stringify(got)}`);
}

const NODE_MODULES = (
  "assert async_hooks buffer console crypto diagnostics_channel events fs http module os path perf_hooks process " +
  "querystring stream string_decoder timers url util zlib"
).split(" ");

/**
 * A tool that changes all that it reaches of Node's names, where it is asked to, and tells the changes of others: marks,
 * settings that differ from Node's, and bytes in memory that it did not write.
 */
const NODE_TOOL = `
${NODE_MODULES.map((name) => `import ${name} from "node:${name}";`).join("\n")}
const roots = [Buffer, process, ${NODE_MODULES.join()}, Buffer.from("a"), new events(), stream.Readable.from(["a"]), crypto.createHash("md5")];
function walk(visit) {
  const todo = [...roots], seen = new Set([globalThis]);
  while (todo.length > 0) {
    const value = todo.pop();
    if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) continue;
    seen.add(value);
    visit(value);
    todo.push(Object.getPrototypeOf(value));
    if (ArrayBuffer.isView(value)) continue;
    for (const key of Reflect.ownKeys(value)) {
      const property = Object.getOwnPropertyDescriptor(value, key);
      todo.push(property.value, property.get, property.set);
    }
  }
  return seen.size;
}
export default ({ change }) => {
  let marks = 0;
  const size = walk((value) => { if (Object.hasOwn(value, "ofTenant")) marks++; });
  const pool = [buffer.Buffer.allocUnsafe(4096), Buffer.allocUnsafeSlow(4096), Buffer.from("x")].map((one) => Buffer.from(one.buffer).includes("of tenant"));
  const seen = [marks, events.defaultMaxListeners, util.inspect.defaultOptions.depth, process.env.MARK ?? null, process.listenerCount("exit"),
    diagnostics_channel.hasSubscribers("mark"), Buffer.poolSize, util.inspect(new Map([[1, 2]])), typeof events.prototype.emit, pool];
  if (!change) return { seen, isLarge: size > 1_500 };
  Buffer.from("a secret of tenant " + change);
  crypto.createHmac("sha256", "of tenant").update("of tenant");
  events.defaultMaxListeners = 99; util.inspect.defaultOptions.depth = 9; process.env.MARK = change; Buffer.poolSize = 1;
  process.on("exit", () => {}); diagnostics_channel.subscribe("mark", () => {});
  const left = () => change;
  walk((value) => {
    try { Reflect.defineProperty(value, "ofTenant", { value: change }); } catch {}
    for (const name of ["emit", "toString", "from", "inspect", "then"]) try { Reflect.set(value, name, left); } catch {}
    try { Reflect.setPrototypeOf(value, null); } catch {}
  });
  return "changed";
};`;
const NODE_SEEN = [0, 10, 2, null, 0, false, 8192, "Map(1) { 1 => 2 }", "function", [false, false, false]];

/**
 * Leaves marks where objects lead to that only a call gets: prototypes and classes that no name leads to. Tells how many
 * marks there were.
 */
const MARKING = `const mark = (objects, leave) => {
  let found = 0;
  for (const one of objects) {
    for (let at = Object.getPrototypeOf(one); at !== null; at = Object.getPrototypeOf(at)) {
      for (const each of [at, at.constructor]) {
        if (Object.hasOwn(each, "left")) found++;
        if (leave) try { Object.defineProperty(each, "left", { value: 1 }); } catch {}
      }
    }
  }
  return found;
};`;

/** A tool that gets them as errors, and by streams and hashes. */
const GIVEN = `import stream from "node:stream"; import zlib from "node:zlib"; import crypto from "node:crypto";
    ${MARKING}
    const thrown = (act) => { try { return act(); } catch (error) { return error; } };
    export default async ({ leave }, { host }) => {
      const gzip = zlib.createGzip();
      gzip.write("a");
      let source;
      stream.pipeline(new stream(), (given) => (source = given), () => {});
      return mark([
        ...Reflect.ownKeys(gzip).flatMap((key) => Object.values(Object(gzip[key])).filter((one) => typeof one === "object" && one !== null)),
        source,
        await host.vault.echo({ at: NaN }).catch((error) => error),
        await new stream.Readable({ read() { this.push(null); } }).reduce(() => 1).catch((error) => error),
        thrown(() => crypto.createPrivateKey({ key: new Uint8Array(1), format: "der", type: "pkcs8" })),
        ...["running", "content"].flatMap((name) => [crypto.createHash("sha256"), crypto.createHmac("sha256", "a")].map((hash) => Object(hash[name]?.()))),
      ], leave);
    };`;

/** Modules of contracts and libraries that hand such objects over, by the names of their tools. */
const HANDED: ReadonlyMap<string, string> = new Map([
  [
    "hooks",
    `${MARKING}
    export async function mount(coordinator) {
      const execute = ({ leave }) => ({ success: true, output: mark([coordinator, coordinator.hooks], leave) });
      await coordinator.mount("tools", { name: "hooks", description: "Has hooks.", execute });
      return null;
    }`,
  ],
  [
    "state",
    `${MARKING}
    export const state = {
      name: "state", description: "Asks for state.", lc_runnable: true, schema: { type: "object" },
      invoke: async ({ leave }, config) => { try { return config.state.any; } catch (error) { return mark([error], leave); } },
    };`,
  ],
]);

/** One tenant attacks, and others call the same tool. */
export const SCENES: readonly Scene[] = [
  {
    name: "what a tenant keeps in a shared module",
    act: async (stage, harm) => {
      const source = "let kept = 'nothing'; export default ({ keep }) => { if (keep) kept = keep; return kept; };";
      const tool = await stage.put(source, { isolation: "shared" });
      const keep = () => ask(stage, tool, "a", { keep: "secret" });
      expectSame(harm, "its own", await keep(), "secret");
      for (const other of ["b", "", "a ", " a", "A", "a\tb", "a\n", "__proto__", "\u0000"]) {
        expectSame(harm, `tenant ${JSON.stringify(other)}`, await ask(stage, tool, other), "nothing");
      }
      const own = await lookAgain(() => ask(stage, tool, "a"), keep, "nothing");
      expectSame(harm, "its own again", own, "secret");
    },
  },
  {
    name: "symbols, caches and statics that one tenant leaves for another",
    act: async (stage, harm) => {
      const source = `export default ({ leave }) => {
        const symbol = Symbol.for('registry');
        if (leave) { for (const o of [symbol, Object, globalThis, Intl, Error]) { try { o.left = 1; } catch {} } /(secret)/.exec('a secret'); (0, eval)('var left = 1'); }
        let matched; try { matched = RegExp.$1; } catch {}
        return [typeof globalThis.left, typeof Object.left, typeof left, String(matched), typeof Error.left];
      };`;
      const tool = await stage.put(source, { isolation: "shared" });
      await ask(stage, tool, "a", { leave: true });
      const clean = ["undefined", "undefined", "undefined", "undefined", "undefined"];
      expectSame(harm, "another tenant", await ask(stage, tool, "b"), clean);
    },
  },
  ...(["context", "isolate"] as const).map((isolation): Scene => ({
    name: `a call that gives itself the number of another tenant's call for its randomness, at level ${isolation}`,
    act: async (stage, harm) => {
      // In a realm that a tool can change, it sees the object of its own call, which its seed was once derived from.
      const attacker = await stage.put(
        `const seen = []; const { set } = Map.prototype;
        Map.prototype.set = function (key, value) { seen.push(value); return Reflect.apply(set, this, [key, value]); };
        export default async ({ by }) => {
          await new Promise((done) => setTimeout(done, 1));
          const call = seen.find((value) => value?.run); const own = call.run;
          call.run = own + by;
          const drawn = crypto.randomUUID();
          call.run = own;
          return { own, drawn };
        };`,
        { isolation },
      );
      const victim = await stage.put("export default () => crypto.randomUUID();");
      const earlier = [await ask(stage, victim, "b"), await ask(stage, victim, "b")];
      const drawn: unknown[] = [];
      for (let by = -12; by < 12; by++)
        drawn.push(((await ask(stage, attacker, "a", { by })) as { drawn?: unknown }).drawn);
      const later = await Promise.all(Array.from({ length: 20 }, () => ask(stage, victim, "b")));
      if (drawn.some((one) => typeof one !== "string")) harm.push(`no number was drawn: ${JSON.stringify(drawn)}`);
      if (new Set(drawn).size < drawn.length) harm.push("two calls drew the same");
      if ([...earlier, ...later].some((one) => drawn.includes(one))) harm.push("it drew what another tenant drew");
    },
  })),
  ...(["instance", "shared", "context", "isolate"] as const).map((isolation): Scene => ({
    name: `two tenants that change all that they reach of Node's names, at level ${isolation}`,
    act: async (stage, harm) => {
      const extras = { isolation, limits: { cpuMs: 20_000, wallMs: PATIENT_MS } };
      const tools = [await stage.put(NODE_TOOL, extras), await stage.put(NODE_TOOL, extras)] as const;
      const clean = { seen: NODE_SEEN, isLarge: true };
      for (const [at, tool] of tools.entries()) {
        const [attacker, other] = at === 0 ? ["a", "b"] : ["b", "a"];
        const change = () => ask(stage, tool, attacker, { change: attacker });
        const look = () => ask(stage, tool, attacker);
        expectSame(harm, `${attacker} changes`, await change(), "changed");
        expectSame(harm, `${other} of the same tool`, await ask(stage, tool, other), clean);
        if (isolation !== "shared") {
          expectSame(harm, `${attacker} again`, await look(), clean);
          continue;
        }
        // Its own module is kept: what it has changed is there.
        const again = await lookAgain(look, change, clean);
        if (JSON.stringify(again) === JSON.stringify(clean)) harm.push(`${attacker} changed nothing`);
      }
      for (const tool of tools) {
        expectSame(harm, "another tenant at last", await ask(stage, tool, "c"), clean);
        // Its isolates hold Node's library: of many tools that would be more than a family may keep.
        await stage.engine.unregister(tool);
      }
    },
  })),
  {
    name: "what only objects of a call lead to, marked for the next call",
    act: async (stage, harm) => {
      const folder = await mkdtemp(join(tmpdir(), "glovebox-handed-"));
      stage.props.defer(() => rm(folder, { recursive: true }));
      for (const [name, text] of HANDED) {
        await writeFile(join(folder, `${name}.mjs`), text);
        await stage.engine.register(join(folder, `${name}.mjs`));
      }
      for (const name of [await stage.put(GIVEN), ...HANDED.keys()]) {
        // Which worker a call meets depends on what else runs.
        for (let round = 0; round < 6; round++) {
          const left = await ask(stage, name, "a", { leave: round % 3 === 0 });
          expectSame(harm, `${name}, call ${round}`, left, 0);
        }
        await stage.engine.unregister(name);
      }
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
      const tool = await stage.put(source, { limits: { cpuMs: 100, wallMs: PATIENT_MS } });
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
      const tool = await stage.put(source, { limits: { cpuMs: 100, wallMs: PATIENT_MS } });
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
