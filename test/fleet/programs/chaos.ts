/**
 * `npm run chaos:fleet -- [--seconds 60] [--seed N] [--machines 3] [--kill-every 3000] [--redis SIGTERM,SIGKILL]`: a fleet whose machines are killed, and whose Redis
 * is ended in these ways (`power` also forgets what it wrote last). Ends with 1 where a call or an effect came to something wrong.
 */
import { parseArgs } from "node:util";
import { seedOf } from "../../load/dice.ts";
import { REDIS_ENDS, type RedisEnd, runFleetChaos } from "../chaos.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    machines: { type: "string", default: "3" },
    "kill-every": { type: "string", default: "3000" },
    redis: { type: "string", default: "SIGTERM,SIGKILL" },
  },
});
const seed = seedOf(values.seed);
console.log(`seed ${seed}`);
const readEnds = (text: string): RedisEnd[] => {
  const ends = text.split(",");
  const known = REDIS_ENDS.filter((end) => ends.includes(end));
  if (known.length < new Set(ends).size) throw new RangeError(`--redis is a list of ${REDIS_ENDS.join(", ")}`);
  return ends.flatMap((each) => known.filter((end) => end === each));
};
const report = await runFleetChaos({
  seed,
  seconds: Number(values.seconds),
  machines: Number(values.machines),
  killEveryMs: Number(values["kill-every"]),
  redisEnds: readEnds(values.redis),
});
console.log(JSON.stringify(report, null, 2));
const isGood = report.violations.length === 0;
console.log(isGood ? "every call settled once, every effect came once" : `FAILED, with seed ${seed}`);
process.exitCode = isGood ? 0 : 1;
