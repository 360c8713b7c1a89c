/** The command of a whole run: `npm run load`. Ten thousand connections, a thousand streams, and clients that read nothing. */
import { parseArgs } from "node:util";
import { runCrowd } from "../crowd.ts";

const { values } = parseArgs({
  options: {
    idle: { type: "string", default: "10000" },
    streams: { type: "string", default: "500" },
    stats: { type: "string", default: "500" },
    deaf: { type: "string", default: "50" },
    ms: { type: "string", default: "5000" },
  },
});
const { idle, streams, stats, deaf, ms } = values;
const crowd = { idle: Number(idle), streams: Number(streams), stats: Number(stats), deaf: Number(deaf) };
console.log(JSON.stringify({ crowd, ...(await runCrowd(crowd, Number(ms))) }, null, 2));
