import { afterAll, expect, test } from "vitest";
import { GloveboxError } from "../../src/base/errors.ts";
import { builds } from "../../src/tool/build/builds.ts";
import { resolveConnectors } from "../../src/tool/connectors/options.ts";
import { readConnector } from "../../src/tool/connectors/read-connector.ts";
import { hostileDocuments } from "../tool/connectors/openapi/hostile-documents.ts";

const DOCUMENTS = 500;
/** The longest turn of this thread, in milliseconds of its processor time. */
const STALL_MAX_MS = 50;
/** Time for one document on a machine with much other work, in milliseconds: on a quiet one it has 2,000. */
const END_MAX_MS = 20_000;

const [connector] = resolveConnectors({ crm: { openapi: { document: "crm.json", server: "https://crm.example" } } });

afterAll(() => builds.stop());

/** Processor time of this thread so far, in milliseconds. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** How a document was read: the time until it was, and this thread's longest turn meanwhile. */
async function reading(text: string): Promise<{ said: string; ms: number; stallMs: number }> {
  if (connector === undefined) throw new Error("no connector");
  let stallMs = 0;
  let lastMs = threadMs();
  const look = (): void => {
    const nowMs = threadMs();
    stallMs = Math.max(stallMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const looking = setInterval(look, 1);
  const startMs = performance.now();
  const said = await readConnector(connector, text).then(
    ({ tools, findings }) => `${tools.length} tools, ${findings.length} findings`,
    (error: unknown) => (error instanceof GloveboxError && error.code === "load_error" ? error.message : String(error)),
  );
  const ms = performance.now() - startMs;
  look();
  clearInterval(looking);
  return { said, ms, stallMs };
}

test("500 hostile OpenAPI documents", { timeout: 1_200_000 }, async () => {
  // The first starts the build process.
  await reading("{}");
  const worst = { ms: 0, stallMs: 0 };
  let [read, refused] = [0, 0];
  for (const { family, seed, text } of hostileDocuments(DOCUMENTS)) {
    const { said, ms, stallMs } = await reading(text);
    const what = `${family}, seed ${seed}: ${said}`;
    expect(said, what).toMatch(
      /^(?:\d+ tools, \d+ findings|connectors\.crm: the OpenAPI document|connectors\.crm: is )/,
    );
    expect(ms, what).toBeLessThan(END_MAX_MS);
    expect(stallMs, what).toBeLessThan(STALL_MAX_MS);
    if (/^\d/.test(said)) read++;
    else refused++;
    worst.ms = Math.max(worst.ms, ms);
    worst.stallMs = Math.max(worst.stallMs, stallMs);
  }
  console.info(
    `${read} read, ${refused} refused; longest ${worst.ms.toFixed(0)} ms, loop ${worst.stallMs.toFixed(0)} ms`,
  );
  expect(Math.min(read, refused)).toBeGreaterThan(DOCUMENTS / 10);
});
