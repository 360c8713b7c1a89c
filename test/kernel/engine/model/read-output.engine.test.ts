import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine, type ExecuteOptions } from "../../../../src/glovebox/index.ts";
import { callTools, openaiChat } from "../../../../src/standard/contracts.ts";
import { toolsForLangChain, toolsForOpenAIAgents } from "../../../../src/contrib/agents/adapters/index.ts";
import { aiTools } from "../../../../src/contrib/agents/forms/ai-tools.ts";

const ROWS = 28_000;
const WANTED = 'name-23517"';
const MODULE = `
const rows = (count) => Array.from({ length: count }, (_, id) =>
  ({ id, name: 'name-' + id + '"', city: "Town " + (id % 977), about: "x".repeat(40) }));
`;
const TOOLS = [
  {
    name: "report",
    description: "A list of customers.",
    source: `${MODULE} export default ({ count = ${ROWS} }) => ({ total: count, rows: rows(count) });`,
  },
  {
    name: "log",
    description: "A log.",
    source: `export default ({ lines }) => Array.from({ length: lines }, (_, at) => "line " + at).join("\\n");`,
  },
  {
    name: "picture",
    description: "An image, and what is on it.",
    source: `export default () => ({ content: [
      { type: "text", text: "word ".repeat(20_000) },
      { type: "image", data: "AAAA".repeat(10_000), mimeType: "image/png" }] });`,
  },
  {
    name: "bounded",
    description: "Says how much of it a model may read.",
    outputChars: 60_000,
    source: `${MODULE} export default ({ count }) => rows(count);`,
  },
];

let engine: Engine;
beforeAll(async () => {
  const limits = { outputBytes: 8 * 1024 * 1024 };
  engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS, limits });
});
afterAll(() => engine.close());

const callOf = (name: string, args: object) => ({
  role: "assistant",
  tool_calls: [{ id: "call_1", type: "function", function: { name, arguments: JSON.stringify(args) } }],
});

/** What a model reads of its call. */
async function ask(name: string, args: object, options: Parameters<typeof callTools>[3] = { tenant: "acme" }) {
  const [answer] = await callTools(engine, "openai-chat", callOf(name, args), options);
  return typeof answer?.content === "string" ? answer.content : JSON.stringify(answer?.content);
}

/** The arguments in the line with which a model goes on. */
function goOn(text: string): Record<string, unknown> {
  const [, line = "{}"] = /read_output (\{.*?\})/.exec(text) ?? [];
  return JSON.parse(line) as Record<string, unknown>;
}

test("a model finds one row in 3 MB, and reads at most 60,000 characters", async () => {
  const names = engine
    .forModels()
    .list()
    .map((tool) => openaiChat.writeTool(tool).function.name);
  expect(names.toSorted()).toEqual([...TOOLS.map(({ name }) => name), "read_output"].toSorted());
  let read = 0;
  const tell = async (name: string, args: object) => {
    const text = await ask(name, args);
    read += text.length;
    return text;
  };
  // The model calls the tool, searches for what it wants, and reads the row at the place that it is told.
  const cut = await tell("report", {});
  expect(cut.length).toBeLessThanOrEqual(25_000);
  expect(cut).toContain(`JSON: { total: number, rows: list of ${ROWS}: { id: number, name: string, city: string,`);
  const { call } = goOn(cut);
  const found = await tell("read_output", { call, search: WANTED });
  const [, pointer = ""] = /in "(\/rows\/\d+)\/name"/.exec(found) ?? [];
  const row = await tell("read_output", { call, pointer });
  expect(row).toContain('{"id":23517,"name":"name-23517\\""');
  expect(read).toBeLessThanOrEqual(60_000);
});

test("the pages of a cut output are the output", async () => {
  const whole = JSON.stringify((await engine.execute({ name: "report", arguments: { count: 600 } })).output);
  const cut = await ask("report", { count: 600 });
  let text = whole.slice(0, Number(goOn(cut)["from"]));
  expect(cut.startsWith(text)).toBe(true);
  for (let next = goOn(cut); next["call"] !== undefined;) {
    const page = await ask("read_output", { ...next, chars: 25_000 });
    text += page.slice(0, page.lastIndexOf("\n\n["));
    next = goOn(page);
  }
  expect(text).toBe(whole);
});

test("another tenant's read_output, and that of a call that was shown whole, is tool_not_found", async () => {
  const options = { tenant: "acme" };
  const model = engine.forModels();
  const { kept } = await model.answerCall({ id: "mine", name: "report", arguments: {} }, options);
  const read = (call: unknown, tenant: string) =>
    model.execute({ name: "read_output", arguments: { call } as Record<string, unknown> }, { tenant });
  expect((await read(kept, "acme")).success).toBe(true);
  for (const result of [await read(kept, "other"), await read(kept, ""), await read("short", "acme")]) {
    expect(result.error?.code).toBe("tool_not_found");
  }
});

test("a short output is the same as without a model, and callers of the library get all of a long one", async () => {
  expect(await ask("log", { lines: 10 })).toBe(Array.from({ length: 10 }, (_, at) => `line ${at}`).join("\n"));
  const { output } = await engine.execute({ name: "log", arguments: { lines: 10_000 } });
  expect(String(output).split("\n")).toHaveLength(10_000);
});

test("a text is cut at lines, and says how many it has", async () => {
  const cut = await ask("log", { lines: 10_000 });
  expect(cut).toMatch(/\nline \d+\n\n\n\[… \d+ characters are left out here …\]\n\nline \d+\n/);
  expect(cut).toContain("text of 10000 lines");
  const page = await ask("read_output", goOn(cut));
  expect(page.startsWith("line ")).toBe(true);
});

test("modelChars of a call, and a tool's own outputChars, stand before the engine's", async () => {
  expect((await ask("log", { lines: 10_000 }, { modelChars: 5_000 })).length).toBeLessThanOrEqual(5_000);
  expect((await ask("log", { lines: 10_000 }, { modelChars: Infinity })).length).toBe(98_889);
  expect((await ask("bounded", { count: 500 })).length).toBeGreaterThan(30_000);
  expect((await ask("bounded", { count: 1_000 })).length).toBeLessThanOrEqual(60_000);
  await expect(ask("log", {}, { modelChars: 10 })).rejects.toThrow(
    "modelChars must be a whole number of at least 1000",
  );
});

test("media are not cut, but count", async () => {
  const shown = await engine.forModels().execute({ name: "picture", arguments: {} });
  const { content } = shown.output as { content: { type: string; data: string; text: string }[] };
  expect(content.map(({ type }) => type)).toEqual(["text", "image"]);
  expect(content[1]?.data).toHaveLength(40_000);
  expect(content[0]?.text.length).toBeLessThanOrEqual(2_000);
  expect(content[0]?.text).toContain('"pointer":"/content/0/text"');
  const page = await ask("read_output", goOn(content[0]?.text ?? ""), {});
  expect(page.slice(5)).toMatch(/^[word ]{9000}/);
});

test.each([
  [{ call: 7 }, "call must be"],
  [{ call: "x", pointer: "rows" }, "pointer must be a JSON pointer"],
  [{ call: "x", from: -1 }, "from must be"],
  [{ call: "x", chars: 1 }, "chars must be"],
  [{ call: "x", search: "" }, "search must be"],
  [{ call: "x", pattern: "" }, "pattern must be"],
  [{ call: "x", search: "a", pattern: "a" }, "search and pattern exclude each other"],
])("read_output says what is wrong with %j", async (args, message) => {
  const { error } = await engine.forModels().execute({ name: "read_output", arguments: args });
  expect(error).toMatchObject({ code: "invalid_arguments", message: expect.stringContaining(message) as string });
});

test("a pointer to nothing says how far it leads, and from has an end", async () => {
  const { call } = goOn(await ask("report", {}));
  expect(await ask("read_output", { call, pointer: "/rows/99999/id" })).toContain(
    `there is nothing at /rows/99999/id: /rows is of the kind list, with ${ROWS} members`,
  );
  expect(await ask("read_output", { call, from: 90_000_000 })).toContain("from must be below");
  expect(await ask("read_output", { call, search: "nobody" })).toContain("was not found");
  expect(await ask("read_output", { call, pattern: "(nobody" })).toContain("pattern is no regular expression: Invalid");
});

test("adapters offer read_output, and their models read cut outputs", async () => {
  const agents = toolsForOpenAIAgents(engine, { names: ["log"], tenant: "acme" });
  expect(agents.map(({ name }) => name)).toEqual(["log", "read_output"]);
  const cut = await agents[0]?.invoke(null, '{"lines":10000}');
  if (typeof cut !== "string") throw new Error("is no text");
  expect(await agents[1]?.invoke(null, JSON.stringify(goOn(cut)))).toMatch(/^line \d+/);
  const chains = await toolsForLangChain(engine, { names: ["log"], modelChars: 4_000 });
  expect(String(await chains[0]?.invoke({ lines: 10_000 })).length).toBeLessThanOrEqual(4_000);
  expect(Object.keys(aiTools(engine))).not.toContain("read_output");
  const { log } = aiTools(engine, { names: ["log"], modelChars: 25_000 });
  const output = await log?.execute({ lines: 10_000 }, { toolCallId: "c1" });
  expect(output).toHaveLength(98_889);
  const shown = log?.toModelOutput?.({ toolCallId: "c1", output });
  const text = shown?.type === "text" ? shown.value : "";
  expect([text.length > 20_000, text.length <= 25_000]).toEqual([true, true]);
});

test("the work for a long output is charged to its tenant", async () => {
  const beforeMs = engine.usage("payer").mainMs;
  const { call } = goOn(await ask("report", {}, { tenant: "payer" }));
  const cutMs = engine.usage("payer").mainMs;
  await ask("read_output", { call, search: WANTED }, { tenant: "payer" });
  expect(cutMs).toBeGreaterThan(beforeMs);
  expect(engine.usage("payer").mainMs).toBeGreaterThan(cutMs);
});

test("a stored call is read after its output has left the memory, by its tenant", async () => {
  const calls = { path: ":memory:", keep: "everything" } as const;
  await using keeping = await createEngine({ workers: 1, executor: "threads", tools: TOOLS, calls });
  await keeping.execute({ id: "old", name: "log", arguments: { lines: 20 } }, { tenant: "acme" });
  const read = (tenant: string) =>
    keeping.forModels().execute({ name: "read_output", arguments: { call: "old" } }, { tenant });
  expect((await read("acme")).output).toMatch(/^line 0\n/);
  expect((await read("other")).error?.code).toBe("tool_not_found");
});

test.each(["^line \\d*99$", "7\\nline 1", "(?<=line 1)234\\b", "LINE", "line \\d+\\n(?!line 2)"])(
  "the pattern %s is found where it matches in the whole text",
  async (pattern) => {
    const text = String((await engine.execute({ name: "log", arguments: { lines: 30_000 } })).output);
    const places = [...text.matchAll(new RegExp(pattern, "gm"))].map(({ index }) => index);
    const { call } = goOn(await ask("log", { lines: 30_000 }));
    const told: number[] = [];
    let page = await ask("read_output", { call, pattern, chars: 25_000 });
    expect(page).toContain(
      places.length === 0 ? "The pattern was not found" : `[${Math.min(places.length, 10_000)} place`,
    );
    for (let pages = 0; pages < 3; pages++) {
      told.push(...[...page.matchAll(/^\[at (\d+)\]$/gm)].map(([, at]) => Number(at)));
      if (goOn(page)["call"] === undefined) break;
      page = await ask("read_output", { ...goOn(page), chars: 25_000 });
    }
    expect(told).toEqual(places.slice(0, told.length));
    expect(told.length).toBeGreaterThanOrEqual(Math.min(places.length, 20));
  },
);

test("a pattern in JSON has the pointers of its values", async () => {
  const { call } = goOn(await ask("report", {}));
  const found = await ask("read_output", { call, pattern: "name-2351[7-9]" });
  const pointers = [...found.matchAll(/in "([^"]+)"/g)].map(([, pointer]) => pointer);
  expect(pointers).toEqual(["/rows/23517/name", "/rows/23518/name", "/rows/23519/name"]);
});

test("a pattern that takes long ends at the limits of a call of its tenant, which pays for it", async () => {
  const { call } = goOn(await ask("report", {}, { tenant: "slow" }));
  const beforeMs = engine.usage("slow").executorMs;
  // So little that it is used up before the limit on time, also on a machine that does much else.
  const options = { tenant: "slow", limits: { cpuMs: 300 } };
  const read = (pattern: string) =>
    engine.forModels().execute({ name: "read_output", arguments: { call, pattern } }, options);
  const slow = await read("(x+x+)+y");
  expect(slow.error).toMatchObject({ code: "cpu_limit", message: expect.stringContaining("pattern was not searched") });
  expect(engine.usage("slow").executorMs - beforeMs).toBeGreaterThan(250);
  expect((await read("Town 12\\b")).output).toContain("29 places");
});

test("patterns that take long leave places for others who read", async () => {
  const kept = await Promise.all(
    ["one", "two", "three"].map(async (tenant) => ({
      tenant,
      call: goOn(await ask("report", {}, { tenant }))["call"],
    })),
  );
  const read = ({ tenant, call }: (typeof kept)[number], args: object) => {
    const options: ExecuteOptions = { tenant, limits: { cpuMs: 100 } };
    return engine.forModels().execute({ name: "read_output", arguments: { call, ...args } }, options);
  };
  const slow = [...kept, ...kept, ...kept].map((one) => read(one, { pattern: "(x+x+)+y" }));
  const [first] = kept;
  if (first !== undefined) expect((await read(first, { search: WANTED })).success).toBe(true);
  const codes = (await Promise.all(slow)).map(({ error }) => String(error?.code));
  expect(codes.toSorted()).toEqual([...Array.from({ length: 8 }, () => "cpu_limit"), "queue_full"]);
});

test("a pattern in a very long text says from where to go on", async () => {
  const { call } = goOn(await ask("log", { lines: 650_000 }));
  const page = await ask("read_output", { call, pattern: "^line 649999$" });
  expect(page).toMatch(/^\[The pattern was not found up to \d{7}\./);
  expect(await ask("read_output", goOn(page))).toContain("line 649999\n\n[1 place from");
});
