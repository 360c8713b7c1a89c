import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { descendants } from "../processes.ts";

const LARGEST_MB = 600;
const NEXT_MS = 2_000;
const LOOK_EVERY_MS = 10;
/** The last of these constants has ten bytes for each of two to this power. */
const DOUBLINGS = [10, 14, 18, 20, 21, 22, 23, 24, 25, 26];
/** With this many, all constants together are more than the 16 MiB of a bundle. */
const TOO_MANY = 20;

const DEFINITION = { description: "A tool.", inputSchema: { type: "object" } } as const;
let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1 });
});

afterAll(() => engine.close());

/** An enum of constants each twice as long as the one before it, which the bundler computes. */
function bomb(doublings: number, twice: (name: string) => string): string {
  const members = Array.from({ length: doublings }, (_, at) => `A${at + 1} = ${twice(`A${at}`)}`);
  return `enum E { A0 = "0123456789", ${members.join(", ")} }\nexport default (name: string): unknown => Reflect.get(E, name);`;
}

const FORMS = {
  sums: (name: string) => `${name} + ${name}`,
  templates: (name: string) => `\`\${${name}}\${${name}}\``,
};

/** The largest resident memory that a process below this one has had, in MiB, looked for while something runs. */
async function largestMb(work: Promise<unknown>): Promise<number> {
  let largest = 0;
  const look = setInterval(() => {
    for (const pid of descendants("self")) largest = Math.max(largest, peakMb(pid));
  }, LOOK_EVERY_MS);
  await work;
  clearInterval(look);
  return largest;
}

function peakMb(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
  } catch {
    // It has ended.
    return 0;
  }
}

async function registerBombs(twice: (name: string) => string): Promise<void> {
  for (const doublings of DOUBLINGS) {
    const source = bomb(doublings, twice);
    const name = `bomb_${doublings}`;
    const registering = engine.register({ ...DEFINITION, name, source }).then(
      () => "registered",
      (error: { code?: string }) => error.code,
    );
    const largest = await largestMb(registering);
    const end = await registering;
    const startMs = performance.now();
    await engine.register({ ...DEFINITION, name: "next", source: "export default () => 1;" });
    const nextMs = performance.now() - startMs;
    process.stdout.write(`${doublings} doublings: ${end}, ${Math.round(largest)} MiB, next ${Math.round(nextMs)} ms\n`);
    if (doublings >= TOO_MANY) expect(end).toBe("load_error");
    expect(largest).toBeLessThan(LARGEST_MB);
    expect(nextMs).toBeLessThan(NEXT_MS);
    await engine.unregister("next");
  }
}

test("an enum that doubles its text from sum to sum, and the next registration", () => registerBombs(FORMS.sums));

test("an enum that doubles its text in templates, and the next registration", () => registerBombs(FORMS.templates));

test("bombs among other registrations end their own, and say which limit they met", async () => {
  const registering = [26, 26, 26].map((doublings, at) =>
    engine.register({ ...DEFINITION, name: `bomb${at}`, source: bomb(doublings, FORMS.sums) }).catch(String),
  );
  const others = [1, 2, 3].map((at) =>
    engine.register({ ...DEFINITION, name: `innocent${at}`, source: `export default () => ${at};` }),
  );
  await Promise.all(others);
  for (const message of await Promise.all(registering)) {
    expect(message).toMatch(/needs more than \d+ MB of addresses; import less, and compute large values when the tool/);
  }
});
