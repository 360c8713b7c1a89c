import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VALUES, VALUES_WITHIN } from "../../docs/generate/values.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { outputText } from "../../src/kernel/base/result.ts";

const GIVE = "export default ({ code }) => (0, eval)(`(${code})`);";
const rows = (all: typeof VALUES) =>
  all.flatMap((row) => (row.javascript === undefined ? [] : [[row.javascript, row] as const]));

let engine: Engine;
beforeAll(async () => {
  const tool = (isolation: "instance" | "context") => {
    return { name: `give_${isolation}`, description: "Gives a value.", source: GIVE, isolation } as const;
  };
  engine = await createEngine({ workers: 1, executor: "threads", tools: [tool("instance"), tool("context")] });
});
afterAll(() => engine.close());

async function given(code: string, isolation: string): Promise<string> {
  const result = await engine.execute({ name: `give_${isolation}`, arguments: { code } });
  return result.error === null ? outputText(result) : `${result.error.code}: ${result.error.message}`;
}

describe.each(["instance", "context"])("in a realm of the kind %s", (isolation) => {
  test.each(rows(VALUES))("%s", async (code, { becomes, refused }) => {
    // An even and an odd place in the text.
    const [alone, within] = [await given(code, isolation), await given(`{ "a/b": [10, ${code}] }`, isolation)];
    if (becomes !== undefined) {
      expect([alone, within]).toEqual([becomes, `{"a/b":[10,${becomes}]}`]);
      return;
    }
    const held = "invalid_output: the tool returned a value that JSON cannot hold:";
    expect(alone).toContain(`${held} it ${refused?.javascript}`);
    expect(within).toContain(`${held} /a~1b/1 ${refused?.javascript}`);
  });

  test.each(rows(VALUES_WITHIN))("[%s]", async (code, { refused }) => {
    expect(await given(`[${code}]`, isolation)).toContain(`JSON cannot hold: /0 ${refused?.javascript}`);
  });
});

test.each([
  ["Object.assign(new Map([['a', 1]]), { own: 2 })", '{"a":1}'],
  ["new (class extends Set { own = 2 })([1])", "[1]"],
  ["Object.assign(new DataView(new ArrayBuffer(1)), { own: 2 })", '{"base64":"AA=="}'],
  ["[Object.assign(Promise.resolve(1), { own: 2 })]", "/0 is a promise: await it"],
  ["Object.assign(new Response('a'), { own: 2 })", "it is a Response: return await response.json()"],
  ["Object.assign(/a/, { own: 2 })", "it is a regular expression: return String(expression)"],
])("members that a tool adds to a value hide nothing: %s", async (code, expected) => {
  for (const isolation of ["instance", "context"]) expect(await given(code, isolation)).toContain(expected);
});

test("a Buffer is bytes, and what a tool makes of one itself stays as it is", async () => {
  await engine.register({
    name: "buffers",
    description: "Gives buffers.",
    source: `import { createHash } from "node:crypto";
      export default ({ code }) => (0, eval)("(({ Buffer, createHash }) => (" + code + "))")({ Buffer, createHash });`,
  });
  const give = async (code: string) => outputText(await engine.execute({ name: "buffers", arguments: { code } }));
  const bytes = '{"base64":"AP8="}';
  expect(await give("Buffer.from([0, 255])")).toBe(bytes);
  expect(await give("[{ a: Buffer.from([0, 255]) }, 'x'.repeat(300)]")).toContain(`[{"a":${bytes}},`);
  expect(await give('createHash("md5").digest().subarray(0, 2)')).toBe('{"base64":"1B0="}');
  const written = '{"type":"Buffer","data":[0,255]}';
  expect(await give("JSON.parse(JSON.stringify(Buffer.from([0, 255])))")).toBe(written);
  expect(await give("Object.assign(Buffer.from([0]), { toJSON: () => ({ own: 1 }) })")).toBe('{"own":1}');
});

test("what cannot be JSON is no argument of a capability either", async () => {
  await engine.register({
    name: "asks",
    description: "Asks.",
    source: "export default async (_, { host }) => host.kv.set('a', { mean: 0 / 0 });",
  });
  expect((await engine.execute({ name: "asks", arguments: {} })).error).toMatchObject({
    code: "tool_error",
    message: "/value/mean is NaN, which JSON does not have: return a number, a text or null",
  });
});
