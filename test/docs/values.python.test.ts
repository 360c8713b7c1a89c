import { afterAll, beforeAll, expect, test } from "vitest";
import { VALUES, VALUES_WITHIN } from "../../docs/generate/values.ts";
import { parseForWriting } from "../../src/kernel/base/exact-json.ts";
import { outputText } from "../../src/kernel/base/result.ts";
import { PYTHON_MS, PythonBench } from "../python/bench.ts";

const GIVE = `import collections, dataclasses, datetime, decimal, enum, pathlib, uuid

async def many():
    yield 1

async def later():
    return 1

def execute(input):
    return eval(input["code"], globals())
`;
const rows = (all: typeof VALUES) =>
  all.flatMap((row) => (row.python === undefined ? [] : [[row.python, row] as const]));

let bench: PythonBench;
let name: string;
beforeAll(async () => {
  bench = await PythonBench.open();
  name = await bench.tool(GIVE);
}, PYTHON_MS);
afterAll(() => bench[Symbol.asyncDispose]());

async function given(code: string): Promise<string> {
  const result = await bench.run(name, { code });
  // Without the blanks of Python's JSON.
  return result.error === null
    ? JSON.stringify(parseForWriting(outputText(result)))
    : `${result.error.code}: ${result.error.message}`;
}

test.each(rows(VALUES))("%s", async (code, { becomes, refused }) => {
  const [alone, within] = [await given(code), await given(`{"a/b": [0, ${code}]}`)];
  if (becomes !== undefined) {
    const same = becomes.replace("RangeError", "RuntimeError");
    expect([alone, within]).toEqual([same, `{"a/b":[0,${same}]}`]);
    return;
  }
  expect(alone).toContain(`JSON cannot hold: it ${refused?.python}`);
  expect(within).toContain(`JSON cannot hold: /a~1b/1 ${refused?.python}`);
});

test.each(rows(VALUES_WITHIN))("[%s]", async (code, { refused }) => {
  expect(await given(`[${code}]`)).toContain(`JSON cannot hold: /0 ${refused?.python}`);
});
