import { trace } from "/work/main/test/simulation/run.ts";
import { simulateLegs } from "/work/main/test/simulation/legs/simulate.ts";
const { trace: lines } = await trace(Number(process.argv[2]), simulateLegs);
console.log(
  lines
    .filter((l) => !/ list: /.test(l))
    .map((l) => l.slice(0, 330))
    .join("\n"),
);
