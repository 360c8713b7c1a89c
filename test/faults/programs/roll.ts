/**
 * `npm run chaos:upgrade -- --from REVISION [--step 5000]`: a fleet of three machines and two servers of another revision
 * is upgraded to this one under load, and back. Ends with 1 where a call was lost, or an effect happened twice.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkOut, OWN } from "../../../bench/revisions/checkout.ts";
import { roll } from "../rolling.ts";

const { values } = parseArgs({
  options: { from: { type: "string", default: "HEAD" }, step: { type: "string", default: "5000" } },
});
const commandOf = (folder: string): readonly string[] => [
  process.execPath,

  "--no-warnings",
  join(folder, "src/cli/main.ts"),
];
await using other = await checkOut(values.from, (text) => console.error(text));
console.log(`from ${other.commit} to this folder's files, and back`);
const rolled = await roll({ from: commandOf(other.folder), to: commandOf(OWN), stepMs: Number(values.step) });
console.log(JSON.stringify(rolled, null, 2));
const isGood = rolled.lost === 0 && rolled.twice === 0;
console.log(isGood ? "no call was lost, no effect happened twice" : "FAILED");
process.exitCode = isGood ? 0 : 1;
