/** Lives through a plan of attacks, one after the other, beside innocent calls; tells what came of each in a line of JSON. */
import { text } from "node:stream/consumers";
import type { ToolResult } from "../../src/glovebox/index.ts";
import { childrenLeft } from "../processes.ts";
import { peakMb } from "./measures.ts";
import type { Closing, Hazard, HostileBatch, NextCall, HostileModule, Plan, Shape, Siege } from "./plan.ts";
import { INNOCENTS, LIMITS, PATIENT_MS } from "./plan.ts";
import type { Scene } from "./scenes/scene.ts";
import { type Outcome, refusalOf, settled, Stage, wordsOf } from "./stage.ts";

const WARM_CALLS = 40;
const BATCH = 64;
const HOSTILE = 20;
const SIEGE = 6;
const TRIES_MAX = 50;
const BESIEGED_MS = 2_500;

const plan = JSON.parse(await text(process.stdin)) as Plan;
const stage = await Stage.open(plan.python);
const { engine } = stage;
for (const hazard of plan.hazards) for (const shape of hazard.shapes) await suffer(hazard, shape);
for (const module of plan.modules ?? []) await load(module);
for (const batch of plan.batches ?? []) await mix(batch);
for (const siege of plan.sieges ?? []) await besiege(siege);
if (plan.scenes !== undefined) await play(plan.scenes.file);
const delay = stage.familyDelay;
await stage.props.disposeAsync();
await engine.close({ drainMs: 2_000 });
const closing: Closing = { hostPeakMb: peakMb(), delay, childrenLeft: await childrenLeft() };
console.log(JSON.stringify(closing));

async function suffer(hazard: Hazard, shape: Shape): Promise<void> {
  const { name, limits, next, idles = false } = hazard;
  let tool = "";
  await stage.among(name, shape, async (harm) => {
    try {
      tool = await stage.put(sourceOf(hazard, shape), hazard);
    } catch (error) {
      return { outcome: refusalOf(error) };
    }
    const startMs = performance.now();
    const outcome = await settled(engine.execute({ name: tool, arguments: hazard.arguments ?? {} }));
    const timed = { ms: performance.now() - startMs, limits, idles };
    if (next !== undefined) await lookLater(tool, hazard, next, harm);
    return { outcome, timed };
  });
  await engine.unregister(tool);
}

/** Which worker a call meets depends on what else runs: one that has not had the hazard says that it is fresh, and has it. */
async function lookLater(tool: string, hazard: Hazard, { arguments: args, output }: NextCall, harm: string[]) {
  // A look is not to meet the limits that the hazard was to meet.
  const options = { limits: { wallMs: PATIENT_MS } };
  let last: ToolResult | undefined;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    last = await settled(engine.execute({ name: tool, arguments: args }, options));
    if (JSON.stringify(last?.output) === JSON.stringify(output)) return;
    if (last?.output !== "fresh") break;
    await settled(engine.execute({ name: tool, arguments: hazard.arguments ?? {} }));
  }
  harm.push(`the tool's next call: ${JSON.stringify(last?.output)}, ${last?.error?.message ?? ""}`);
}

function sourceOf({ body, module = "", runtime }: Hazard, shape: Shape): string {
  if (runtime === "python") return pythonOf(body, module, shape);
  const [async, wait] =
    shape === "at once" ? ["", ""] : ["async ", "await new Promise((done) => setTimeout(done, 5));"];
  return `${module}\nexport default ${async}(input, context) => { const { host } = context; ${wait}\n${body}\n};`;
}

function pythonOf(body: string, module: string, shape: Shape): string {
  const indented = body.replaceAll(/^/gm, "  ");
  if (shape === "at once") return `${module}\ndef execute(input):\n${indented}\n`;
  return `${module}\nimport asyncio as _asyncio\nasync def execute(input):\n  await _asyncio.sleep(0.005)\n${indented}\n`;
}

/** Registers a module that attacks at once; where it gets through, calls it. */
async function load({ name, source, callEnds, isolation }: HostileModule): Promise<void> {
  let tool: string | null = null;
  await stage.among(name, "registration", async () => {
    try {
      const limits = { wallMs: PATIENT_MS };
      tool = (await settled(stage.put(source, { limits, ...(isolation !== undefined && { isolation }) }))) ?? null;
      return { outcome: tool === null ? undefined : "registered" };
    } catch (error) {
      return { outcome: refusalOf(error) };
    }
  });
  if (tool === null || callEnds === undefined) return;
  const call = { name: tool, arguments: {} };
  await stage.among(name, "call", async () => ({ outcome: await settled(engine.execute(call)) }));
}

/** Calls a quick tool until its calls travel together, and then lets one of many that do be hostile. */
async function mix({ name, body, ends }: HostileBatch): Promise<void> {
  const source = `export default ({ n, hostile }) => { if (hostile) { ${body} } return n * 2; };`;
  const wallMs = ends.includes("wall_limit") ? LIMITS.wallMs : PATIENT_MS;
  const tool = await stage.put(source, { limits: { wallMs } });
  for (let n = 0; n < WARM_CALLS; n++) await engine.execute({ name: tool, arguments: { n } });
  await stage.among(name, "in a batch", async (harm) => {
    const calls = Array.from({ length: BATCH }, (_, n) =>
      settled(engine.execute({ name: tool, arguments: { n, hostile: n === HOSTILE } })),
    );
    const results = await Promise.all(calls);
    for (const [n, result] of results.entries()) {
      if (n !== HOSTILE && result?.output !== n * 2) harm.push(`call ${n} of the batch: ${wordsOf(result)}`);
    }
    return { outcome: results[HOSTILE] };
  });
}

/** Ends isolates or processes one after the other while calls that have done nothing wrong are in flight. */
async function besiege({ name, body, from }: Siege): Promise<void> {
  const source = `export default async ({ n, hostile }) => {
    await new Promise((done) => setTimeout(done, hostile ? 5 : ${BESIEGED_MS}));
    if (hostile) { ${body} }
    return n * 2;
  };`;
  const limits = { cpuMs: 100, wallMs: PATIENT_MS };
  const besieged = await stage.put(source, { limits });
  const attackers: string[] = [];
  for (let i = 0; i < SIEGE; i++) {
    attackers.push(from === "the same tool" ? besieged : await stage.put(source, { limits }));
  }
  await stage.among(name, "again and again", async (harm) => {
    const calm = Array.from({ length: INNOCENTS }, (_, n) =>
      settled(engine.execute({ name: besieged, arguments: { n, hostile: false } })),
    );
    let last: Outcome;
    for (const attacker of attackers) {
      await new Promise((done) => setTimeout(done, 100));
      last = await settled(engine.execute({ name: attacker, arguments: { n: 0, hostile: true } }));
    }
    for (const [n, result] of (await Promise.all(calm)).entries()) {
      if (result?.output !== n * 2) harm.push(`call ${n} under siege: ${wordsOf(result)}`);
    }
    return { outcome: last };
  });
}

/** Plays the scenes of a file: attacks that take more than one call. What such a scene finds wrong is harm. */
async function play(file: string): Promise<void> {
  const { SCENES } = (await import(`./scenes/${file}.ts`)) as { readonly SCENES: readonly Scene[] };
  for (const { name, act } of SCENES) {
    await stage.among(name, "played", async (harm) => ({
      outcome: await settled(act(stage, harm).then(() => "registered" as const)),
    }));
  }
}
