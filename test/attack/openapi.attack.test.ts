import { readdirSync, readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { GloveboxError } from "../../src/kernel/base/errors.ts";
import { builds } from "../../src/kernel/tool/build/builds.ts";
import { resolveConnectors } from "../../src/connectors/tool/options.ts";
import { readConnector } from "../../src/connectors/tool/read-connector.ts";
import { byLength } from "../length.ts";
import { descendants } from "../processes.ts";
import { TurnMeter, usualMs } from "../turns.ts";
import { hostileDocuments } from "../connectors/tool/openapi/hostile-documents.ts";

/** Documents of all families. */
const DOCUMENTS = byLength(48, 500);
/** The longest turn of this thread, in milliseconds of its processor time: less than 50 on a quiet machine. */
const STALL_MAX_MS = 250;
/** Processor time of the build process for one document, on a usual machine: with much other work, caches are cold. */
const CPU_MAX_MS = 5_000;
const PIECE = 64 * 1024;

const [connector] = resolveConnectors({ crm: { openapi: { document: "crm.json", server: "https://crm.example" } } });

afterAll(() => builds.stop());

/** Processor time of each process below this one so far, in milliseconds; none where the system does not tell it. */
function processMs(): ReadonlyMap<number, number> {
  return new Map(descendants("self").map((pid) => [pid, timeOf(pid)]));
}

function timeOf(pid: number): number {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const used = tasks.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]));
    return used.reduce((sum, ns) => sum + ns / 1e6, 0);
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}

interface Reading {
  readonly said: string;
  readonly ms: number;
  /** Processor time of the processes that read it. */
  readonly usedMs: number;
  /** The longest turn of this thread meanwhile. */
  readonly stallMs: number;
}

/** In pieces, as files and servers give it. */
function bytesOf(text: string): readonly Buffer[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, at) =>
    bytes.subarray(at * PIECE, (at + 1) * PIECE),
  );
}

async function reading(text: string): Promise<Reading> {
  if (connector === undefined) throw new Error("no connector");
  const bytes = bytesOf(text);
  using turns = new TurnMeter();
  const before = processMs();
  const startMs = performance.now();
  const said = await readConnector(connector, bytes).then(
    ({ tools, findings }) => `${tools.length} tools, ${findings.length} findings`,
    (error: unknown) => (error instanceof GloveboxError && error.code === "load_error" ? error.message : String(error)),
  );
  const ms = performance.now() - startMs;
  turns.stop();
  const usedMs = [...processMs()].reduce((sum, [pid, used]) => sum + Math.max(0, used - (before.get(pid) ?? 0)), 0);
  return { said, ms, usedMs: usualMs(usedMs), stallMs: turns.longestMs };
}

test("hostile OpenAPI documents of all families", { timeout: 1_200_000 }, async () => {
  // The first starts the build process.
  await reading("{}");
  const worst = { ms: 0, usedMs: 0, stallMs: 0 };
  let [read, refused] = [0, 0];
  for (const { family, seed, text } of hostileDocuments(DOCUMENTS)) {
    const { said, ms, usedMs, stallMs } = await reading(text);
    const what = `${family}, seed ${seed}: ${said}`;
    expect(said, what).toMatch(
      /^(?:\d+ tools, \d+ findings|connectors\.crm: the OpenAPI document|connectors\.crm: is )/,
    );
    expect(usedMs, what).toBeLessThan(CPU_MAX_MS);
    expect(stallMs, what).toBeLessThan(STALL_MAX_MS);
    if (/^\d/.test(said)) read++;
    else refused++;
    worst.ms = Math.max(worst.ms, ms);
    worst.usedMs = Math.max(worst.usedMs, usedMs);
    worst.stallMs = Math.max(worst.stallMs, stallMs);
  }
  const longest = `${worst.usedMs.toFixed(0)} ms of processor time, ${worst.ms.toFixed(0)} ms in all`;
  console.info(`${read} read, ${refused} refused; longest ${longest}, loop ${worst.stallMs.toFixed(0)} ms`);
  expect(Math.min(read, refused)).toBeGreaterThan(DOCUMENTS / 10);
});
