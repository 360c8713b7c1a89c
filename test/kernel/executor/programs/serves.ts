/** Starts an engine, says who belongs to it, and waits to be killed. */
import { createEngine } from "../../../../src/glovebox/index.ts";
import { descendants } from "../../../processes.ts";

const engine = await createEngine({ workers: 1, executor: { kind: "process", sandbox: "require" } });
await engine.register({ name: "spin", description: "spins", source: "export default () => { for (;;); };" });
void engine.execute({ name: "spin", arguments: {} }, { limits: { cpuMs: 50_000 } });
console.log(JSON.stringify(descendants(process.pid)));
