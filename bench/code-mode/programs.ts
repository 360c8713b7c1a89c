/** Fifty calls of a tool that adds: by programs, by the library's caller, and by requests over HTTP. */
import { codeMode } from "../../src/code-mode/index.ts";
import { call, openEngine, sumOf } from "../engines.ts";
import { measure, type Subject } from "../sampling.ts";
import type { Context, Findings } from "../scenario.ts";
import { startServer } from "../server-process.ts";
import { addTool } from "../tools.ts";

const CALLS = 50;
const ONE_BY_ONE = `let sum = 0;
for (let n = 0; n < ${CALLS}; n++) sum += (await tools.add({ a: input, b: 1 })).sum;
return sum;`;
const AT_ONCE = `const all = await Promise.all(Array.from({ length: ${CALLS} }, () => tools.add({ a: input, b: 1 })));
return all.reduce((sum, one) => sum + one.sum, 0);`;
const NOTHING = `return ${CALLS} * (input + 1);`;
const HEADERS = { "content-type": "application/json" };

type Calls = (index: number) => Promise<number>;

/** Fifty calls, each after the last one or all at once. */
function repeated(one: Calls, isAtOnce: boolean): Calls {
  return async (index) => {
    let sum = 0;
    if (!isAtOnce) for (let left = CALLS; left > 0; left--) sum += await one(index);
    else for (const part of await Promise.all(Array.from({ length: CALLS }, () => one(index)))) sum += part;
    return sum;
  };
}

interface Way {
  readonly name: string;
  /** A call of the tool. */
  readonly call: Calls;
  readonly program: (code: string) => Calls;
}

function subjectsOf({ name, call: one, program }: Way): readonly Subject[] {
  const alone = `${name}: 50 calls, one by one`;
  const together = `${name}: 50 calls at once`;
  return [
    { name: alone, against: [], run: repeated(one, false) },
    { name: together, against: [], run: repeated(one, true) },
    { name: `${name}: a program, one by one`, against: [alone], run: program(ONE_BY_ONE) },
    { name: `${name}: a program, at once`, against: [together, alone], run: program(AT_ONCE) },
    { name: `${name}: a program that calls nothing`, against: [], run: program(NOTHING) },
  ];
}

export async function measurePrograms(context: Context): Promise<Findings> {
  await using engine = await openEngine("process");
  await engine.register(addTool("add"));
  const mode = codeMode(engine, { typeCheck: "off" });
  await using server = await startServer("glovebox");
  const library: Way = {
    name: "library",
    call: async (index) => sumOf(await call(engine, "add", { a: index, b: 1 })),
    program: (code) => async (index) => {
      const ended = await mode.run(code, { input: index });
      if (!ended.success) throw new Error(ended.error.message);
      return Number(ended.output.result);
    },
  };
  const http: Way = {
    name: "HTTP",
    call: async (index) => sumOf(await post(server.url, "add", { a: index, b: 1 })),
    program: (code) => async (index) => {
      const output = await post(server.url, "run_code", { code, input: index });
      return Number((output as { readonly result: unknown }).result);
    },
  };
  return await measure(context, {
    subjects: [library, http].flatMap(subjectsOf),
    expected: (index) => CALLS * (index + 1),
    latency: { name: "fifty_calls_ms", unit: "ms" },
  });
}

async function post(url: string, name: string, args: object): Promise<unknown> {
  const body = JSON.stringify({ id: "c", name, arguments: args });
  const response = await fetch(`${url}/v1/execute`, { method: "POST", headers: HEADERS, body });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text}`);
  return (JSON.parse(text) as { readonly output: unknown }).output;
}
