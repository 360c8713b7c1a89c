/**
 * `npm run chaos:fleet -- [--seconds 60] [--seed N] [--machines 3] [--kill-every 3000]`: a fleet whose machines are killed, and whose Redis
 * is ended twice, once each way. Ends with 1 where a call or an effect came to something wrong.
 */
import { parseArgs } from "node:util";
import { seedOf } from "../../load/dice.ts";
import { runFleetChaos } from "../chaos.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    machines: { type: "string", default: "3" },
    "kill-every": { type: "string", default: "3000" },
  },
});
const seed = seedOf(values.seed);
console.log(`seed ${seed}`);
const report = await runFleetChaos({
  seed,
  seconds: Number(values.seconds),
  machines: Number(values.machines),
  killEveryMs: Number(values["kill-every"]),
  redisEnds: ["SIGTERM", "SIGKILL"],
});
console.log(JSON.stringify(report, null, 2));
const isGood = report.violations.length === 0;
console.log(isGood ? "every call settled once, every effect came once" : `FAILED, with seed ${seed}`);
process.exitCode = isGood ? 0 : 1;
