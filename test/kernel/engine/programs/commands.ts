/** Runs commands of WASI in several isolates, one of which is cut, closes the engine, and must then end by itself. */
import { fileURLToPath } from "node:url";
import { createEngine } from "../../../../src/glovebox/index.ts";

const executor = process.argv[2] === "threads" ? "threads" : "process";
const entryOf = (name: string): string =>
  fileURLToPath(new URL(`../../../../fixtures/binaries/wasi/${name}.wasm`, import.meta.url));
const engine = await createEngine({ executor, workers: 2 });
for (const isolation of ["instance", "isolate"] as const) {
  const entry = entryOf("increment");
  await engine.register({ name: isolation, description: "adds one", runtime: "wasi", entry, isolation });
}
await engine.register({
  name: "hazards",
  description: "does harm",
  runtime: "wasi",
  entry: entryOf("hazards"),
  limits: { cpuMs: 100 },
});
const calls = ["instance", "isolate", "instance", "isolate", "instance", "isolate"].map((name, index) =>
  engine.execute({ name, arguments: { value: 42 } }, { tenant: `tenant-${index % 2}` }),
);
const outputs = (await Promise.all(calls)).map(({ output }) => (output as { readonly result: number }).result);
const cut = await engine.execute({ name: "hazards", arguments: { do: "loop" } });
await engine.close();
console.log(JSON.stringify([...outputs, cut.error?.code]));
