import { createEngine } from "./src/index.ts";
const engine = await createEngine({ executor: (process.argv[2] ?? "threads") as "threads", workers: 1 });
const F="fixtures/binaries/wasi/increment.wasm";
await engine.register({ name: "inc", description: "adds", runtime: "wasi", entry: F });
await engine.register({ name: "js", description: "adds", source: "export default ({value}) => ({result: value+1})" });
for (let round = 0; round < 3; round++) for (const name of ["inc", "js"]) {
  const ts=[], cs=[];
  for (let i = 0; i < 500; i++) { const t = performance.now(); const r = await engine.execute({ name, arguments: { value: i } }); ts.push(performance.now() - t); cs.push(r.metadata.cpuMs) }
  const p = (a: number[]) => a.sort((x, y) => x - y)[a.length >> 1]?.toFixed(3);
  console.log(name, "wall p50", p(ts), "cpu p50", p(cs));
}
await engine.close();
