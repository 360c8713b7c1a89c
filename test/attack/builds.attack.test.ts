import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine, type JsonSchema } from "../../src/glovebox/index.ts";
import { byLength } from "../length.ts";
import { buildTarGz } from "../kernel/tool/package/build-tar.ts";
import { buildZip } from "../kernel/tool/package/build-zip.ts";
import { wheelFiles } from "../python/build-wheel.ts";
import { newTree } from "../kernel/tool/package/opening.ts";
import { longestTurnDuring } from "../turns.ts";

/** The longest turn of the host's event loop, in milliseconds of processor time. */
const STALL_MAX_MS = 150;
/** A registration ends; how soon depends on the machine. */
const END_MAX_MS = 60_000;
const SCHEMAS = byLength(5, 10);
const OBJECTS = 5_000;
const MIB = 1024 * 1024;
const STRANGER = { registrant: "key:stranger" };
const SOURCE = "export default () => 1;";

const wheels = mkdtempSync(path.join(tmpdir(), "glovebox-wheels-"));
let engine: Engine;

beforeAll(async () => {
  for (const [name, bytes] of Object.entries(hostileWheels())) await writeFile(path.join(wheels, name), bytes);
  engine = await createEngine({ workers: 1, executor: "process", packages: { wheels } });
  await engine.register({ name: "first", description: "d", source: SOURCE }, STRANGER);
});

afterAll(async () => {
  await engine.close();
  await rm(wheels, { recursive: true });
});

/** A wheel of as many bytes as are read, and one of many files. */
function hostileWheels(): Readonly<Record<string, Buffer>> {
  const many = Array.from({ length: 9_000 }, (_, at) => [`many/m${at}.py`, `A = ${at}\n`]);
  return wheelFiles(
    { name: "vast", files: { "vast/__init__.py": "", "vast/data": randomBytes(60 * MIB) } },
    { name: "many", files: Object.fromEntries(many) },
  );
}

/** Schemas of as many objects as are allowed, in forms that the compiler takes different paths for. */
const FORMS: readonly ((at: number) => JsonSchema)[] = [
  (at) => ({ properties: record((key) => ({ minLength: key % 7, title: `${at}` })) }),
  (at) => ({ anyOf: list((key) => ({ const: key + at })) }),
  (at) => ({ allOf: list((key) => ({ required: [`k${key + at}`] })) }),
  (at) => ({ definitions: record((key) => ({ maximum: key })), $ref: `#/definitions/p${at}` }),
  (at) => ({ patternProperties: record((key) => ({ pattern: `^[a-z]{${key % 50}}${at}$` })) }),
];

function list<Value>(value: (at: number) => Value): Value[] {
  return Array.from({ length: OBJECTS - 2 }, (_, at) => value(at));
}

function record<Value>(value: (at: number) => Value): Record<string, Value> {
  return Object.fromEntries(list(value).map((one, at) => [`p${at}`, one]));
}

test("large schemas that a stranger registers one after the other", async () => {
  const ends: string[] = [];
  let longestMs = 0;
  const stallMs = await longestTurnDuring(async () => {
    for (let at = 0; at < SCHEMAS; at++) {
      const form = FORMS[at % FORMS.length];
      const inputSchema = form === undefined ? true : form(at);
      const tool = { name: `large${at}`, description: "d", source: SOURCE, inputSchema };
      const startMs = performance.now();
      ends.push(await engine.register(tool, STRANGER).then(() => "registered", String));
      longestMs = Math.max(longestMs, Math.round(performance.now() - startMs));
    }
  });
  process.stdout.write(`${SCHEMAS} schemas: loop ${stallMs} ms, longest ${longestMs} ms\n`);
  for (const end of ends) expect(end).toMatch(/^registered$|is too large to be compiled|schemas took longer than/);
  await engine.register({ name: "next", description: "d", source: SOURCE }, STRANGER);
  expect(stallMs).toBeLessThan(STALL_MAX_MS);
  expect(longestMs).toBeLessThan(END_MAX_MS);
});

test("errors in a tool whose bundle and source map have many megabytes", async () => {
  const source = `const a = 1;\nexport const list = () => [${"a,".repeat(1_900_000)}];\nexport default () => { throw new Error("x"); };`;
  const registerMs = await longestTurnDuring(async () => {
    await engine.register({ name: "vast", description: "d", source }, STRANGER);
  });
  const stacks: unknown[] = [];
  const stallMs = await longestTurnDuring(async () => {
    for (let at = 0; at < 20; at++) {
      const { error } = await engine.execute({ name: "vast", arguments: {} });
      stacks.push(Reflect.get(Object(error?.details), "stack"));
    }
  });
  process.stdout.write(`errors with a vast source map: loop ${stallMs} ms; its registration: ${registerMs} ms\n`);
  for (const stack of stacks) expect(stack).toMatch(/tool\.js:\d+:\d+\)?\n {4}\(lines of the bundle, because/);
  expect(stallMs).toBeLessThan(STALL_MAX_MS);
});

test("errors in a tool with the largest source map that is read", async () => {
  const source = `const a = 1;\nexport const list = () => [${"a,".repeat(400_000)}];\nexport default () => { throw new Error("x"); };`;
  await engine.register({ name: "wide", description: "d", source }, STRANGER);
  const stallMs = await longestTurnDuring(async () => {
    for (let at = 0; at < 20; at++) {
      const { error } = await engine.execute({ name: "wide", arguments: {} });
      expect(Reflect.get(Object(error?.details), "stack")).toMatch(/wide\.js:3:\d+/);
    }
  });
  process.stdout.write(`errors with a large source map: loop ${stallMs} ms\n`);
  expect(stallMs).toBeLessThan(STALL_MAX_MS);
});

/** Archives that take long to read, each in its way. */
function hostileArchives(): Readonly<Record<string, Buffer>> {
  const code = { name: "code/function.js", data: SOURCE };
  const many = Array.from({ length: 1_000 }, (_, at) => ({ name: `code/${at}/a.js`, data: "" }));
  const [zeros, noise] = [Buffer.alloc(40 * MIB), randomBytes(20 * MIB)];
  return {
    "many.zip": buildZip([code, ...many]),
    "many.tar.gz": buildTarGz([code, ...many]),
    "zeros.zip": buildZip([code, { name: "code/zeros", data: zeros }]),
    "zeros.tar.gz": buildTarGz([code, { name: "code/zeros", data: zeros }]),
    "noise.zip": buildZip([code, { name: "code/noise", data: noise, isStored: true }]),
    "noise.tar.gz": buildTarGz([code, { name: "code/noise", data: noise }]),
    "wheels.zip": buildZip([
      { name: "code/function.py", data: "def execute(data):\n    return 1\n" },
      { name: "code/requirements.txt", data: "vast\nmany\n" },
    ]),
  };
}

/** How many registrations of another registrant, one after the other, end while something runs. */
async function innocentsDuring(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  void work.finally(() => (isDone = true));
  for (let ended = 0; ; ended++) {
    await engine.register({ name: "innocent", description: "d", source: SOURCE }, { registrant: "key:other" });
    if (isDone) return ended;
  }
}

test("archives and wheels that take long to read, beside another's registrations", async () => {
  const archives = await newTree(hostileArchives());
  const names = (await readdir(archives)).toSorted();
  let beside = 0;
  for (const name of names) {
    let end = "";
    const stallMs = await longestTurnDuring(async () => {
      const registering = engine.register(path.join(archives, name), STRANGER).then(() => "registered", String);
      beside += await innocentsDuring(registering);
      end = await registering;
    });
    process.stdout.write(`${name}: loop ${stallMs} ms, ${end.slice(0, 120)}\n`);
    expect(stallMs, name).toBeLessThan(STALL_MAX_MS);
  }
  process.stdout.write(`another's registrations that ended beside ${names.length} of these: ${beside}\n`);
  // One that had to wait for them would end after each.
  expect(beside).toBeGreaterThan(2 * names.length);
});

test("many registrations of one registrant, beside another's", async () => {
  const properties = Object.fromEntries(Array.from({ length: 800 }, (_, at) => [`p${at}`, { type: "string" }]));
  // Two build processes stand by: while one starts on a busy machine, another does many jobs.
  const stands = [STRANGER, { registrant: "key:other" }].map((registrant, at) =>
    engine.register({ name: `stands${at}`, description: "d", source: SOURCE }, registrant),
  );
  await Promise.all(stands);
  let ended = 0;
  const registering = Array.from({ length: 20 }, async (_, at) => {
    const tool = { name: `queued${at}`, description: "d", source: SOURCE, inputSchema: { type: "object", properties } };
    await engine.register(tool, STRANGER).catch(() => undefined);
    ended++;
  });
  await engine.register({ name: "innocent", description: "d", source: SOURCE }, { registrant: "key:other" });
  expect(ended).toBeLessThan(10);
  await Promise.all(registering);
});

test("registrations that wait too long for others of their registrant", async () => {
  // Each takes seconds: the module does not end while it is loaded.
  const endless = "export const spec = { name: 'endless', description: 'd' }; for (;;); export default () => 1;";
  const beganMs = performance.now();
  const ends = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => {
      const error = await engine
        .register({ name: `late${at}`, description: "d", source: endless }, STRANGER)
        .then(() => null)
        .catch(String);
      return { error, ms: performance.now() - beganMs };
    }),
  );
  const late = ends.filter(({ error }) => error?.includes("were being prepared for 8 s; register it again later"));
  expect(late.length).toBeGreaterThan(20);
  expect(ends.filter(({ error }) => error === null)).toEqual([]);
  console.log(
    `50 registrations at once: ${late.length} gave up, the last ended after ${Math.max(...ends.map(({ ms }) => ms)).toFixed(0)} ms`,
  );
  // The registrant's next one has its turn.
  await engine.register({ name: "after", description: "d", source: SOURCE }, STRANGER);
});
