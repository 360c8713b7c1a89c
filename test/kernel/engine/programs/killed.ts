/** Kills itself while its executor is busy: the executor has to notice and end. */
import { createEngine } from "../../../../src/glovebox/index.ts";

const engine = await createEngine({ workers: 1 });
await engine.register({ name: "spin", description: "spins", source: "export default () => { for (;;); };" });
void engine.execute({ name: "spin", arguments: {} }, { limits: { cpuMs: 50_000 } });
setTimeout(() => process.kill(process.pid, "SIGKILL"), 300);
