/** Runs a Python tool on an executor, closes the engine, and has to end by itself: `call`, `loop` at the close, or `none`. */
import { readdirSync } from "node:fs";

const [executor = "threads", mode = "call", cache = ""] = process.argv.slice(2);
if (cache !== "") process.env["XDG_CACHE_HOME"] = cache;
const { createEngine } = await import("../../../../src/glovebox/index.ts");

const source = `import time
def execute(input):
  while input["loops"]: pass
  time.sleep(0.01)
  return sum(range(input["n"] + 1))
`;
const engine = await createEngine({ executor: executor === "process" ? "process" : "threads", workers: 2 });
if (mode === "none") {
  await engine.register({ name: "plain", description: "adds", source: "export default ({ n }) => n + 1;" });
  console.log(JSON.stringify((await engine.execute({ name: "plain", arguments: { n: 1 } })).output));
} else {
  const limits = { cpuMs: 5_000, wallMs: 60_000 };
  await engine.register({ name: "sum", description: "sums", runtime: "python", source, limits });
  const calls = [3, 4].map((n) => engine.execute({ name: "sum", arguments: { n, loops: false } }, { tenant: `t${n}` }));
  const results = await Promise.all(calls);
  console.log(JSON.stringify(results.map(({ output, error }) => error?.message ?? output)));
  if (mode === "loop") {
    const loop = engine.execute({ name: "sum", arguments: { n: 1, loops: true } });
    await new Promise((done) => setTimeout(done, 500));
    await engine.close({ drainMs: 100 });
    console.log((await loop).error?.code ?? "no error");
  }
}
await engine.close();
if (cache !== "") console.log(readdirSync(`${cache}/glovebox`).join());
