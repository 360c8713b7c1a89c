import { createEngine } from "./src/index.ts";
const executor = (process.argv[2] ?? "threads") as "threads";
const engine = await createEngine({ executor, workers: 1 });
for (const name of ["hazards", "table"])
  await engine.register({ name, description: "x", runtime: "wasi", entry: `fixtures/binaries/wasi/${name}.wasm`, limits: { memoryMb: 32, cpuMs: 500, wallMs: 5000 } });
const words = "echo leave leave held chance chance escape list garbage exit trap bounds recursion stack files holes file memory flood sleep loop".split(" ");
const only = process.argv.slice(3);
for (const word of only.length ? only : words) {
  const t = performance.now();
  const { output, error, metadata } = await engine.execute({ name: "hazards", arguments: { do: word, more: "é€𝄞" } });
  console.log(word.padEnd(10), (performance.now() - t).toFixed(0), JSON.stringify(output ?? [error?.code, error?.message])?.slice(0, 200), metadata.logs.length, metadata.heapBytes >> 20);
}
const r = await engine.execute({ name: "table", arguments: {} });
console.log(JSON.stringify(r.error));
await engine.close();
