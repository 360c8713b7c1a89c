import { currentWorld, simulate } from "./simulate.ts";
import { inhabit } from "./world.ts";
const from = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 1);
const traced = process.argv[4] === "t";
const startMs = performance.now();
const ends = new Map<string, number>();
const kinds = new Map<string, number[]>();
let bad = 0, steps = 0, restarts = 0, replayed = 0, effects = 0;
const cpu = process.cpuUsage.bind(process); const cpu0 = cpu(); const real = performance.now.bind(performance);
process.on("unhandledRejection", (e) => console.log("UNHANDLED", e));
{
  using _ = inhabit(currentWorld);
  for (let seed = from; seed < from + count; seed++) {
    const r = await simulate(seed, traced);
    steps += r.steps; restarts += r.restarts; replayed += r.replayed; effects += r.effects;
    for (const [c, n] of r.ends) ends.set(c, (ends.get(c) ?? 0) + n);
    if (r.violations.length > 0) { bad++; const k = (r.violations[0] ?? "").replaceAll(/\d+/g, "#").slice(0, 160); (kinds.get(k) ?? kinds.set(k, []).get(k)!).push(seed); }
    if (traced) console.log(r.trace.map((l) => l.slice(0, 330)).join("\n"));
    if (traced) console.log(r.violations.join("\n"));
  }
}
const ms = real() - startMs; const used = cpu(cpu0); const cpuMs = (used.user + used.system) / 1000;
console.log({ count, bad, steps: steps / count, restarts, replayed, effects, ms: Math.round(ms), cpuPerSeed: cpuMs / count, ends: Object.fromEntries(ends) });
for (const [k, s] of [...kinds].toSorted((a, b) => b[1].length - a[1].length).slice(0, 25)) console.log(s.length, k, s.slice(0, 4).join(","));
