import { registerHooks } from "node:module";
import { FAULTS } from "./faults.ts";
import { LEG_FAULTS } from "./legs/faults.ts";

// Puts faults into the sources as they are loaded, and prints for each the seed that finds it; `null` for none. Each has
// modules of its own: their addresses end in its number. Those of calls that wait have the numbers after the others.
const ALL = [...FAULTS, ...LEG_FAULTS];
const SRC = new URL("../../src/", import.meta.url).href;
const HERE = new URL("./", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const number = /\?fault=\d+$/.exec(context.parentURL ?? "")?.[0] ?? "";
    const isOwn = resolved.url.startsWith(SRC) || resolved.url.startsWith(HERE);
    return isOwn && !resolved.url.includes("?") ? { ...resolved, url: resolved.url + number } : resolved;
  },
  load(url, context, next) {
    const loaded = next(url, context);
    const [path = "", number] = url.split("?fault=");
    const fault = ALL[Number(number)];
    if (fault === undefined || path !== SRC + fault.file) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString();
    if (!source.includes(fault.from)) throw new Error(`"${fault.from}" does not stand in src/${fault.file}`);
    return { ...loaded, source: source.replace(fault.from, () => fault.to) };
  },
});

for (const number of process.argv.slice(2).map(Number)) {
  const run = (await import(`./run.ts?fault=${number}`)) as typeof import("./run.ts");
  const legs = (await import(`./legs/simulate.ts?fault=${number}`)) as typeof import("./legs/simulate.ts");
  const simulated = number < FAULTS.length ? undefined : legs.simulateLegs;
  const { failed } = await run.simulateAll(1, ALL[number]?.within ?? 0, simulated);
  console.log(JSON.stringify([number, failed?.seed ?? null, failed?.violations[0]?.slice(0, 100) ?? null]));
}
