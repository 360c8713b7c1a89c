import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  type EngineOptions,
  type JsonSchema,
  type ToolResult,
} from "../../../../src/glovebox/index.ts";

const GIVEN = { bank: true, crawler: true, herald: true, meter: true };
const LARGEST = 2n ** 63n - 1n;
const UP_TO_LARGEST: JsonSchema = { type: "integer", maximum: LARGEST };

let engine: Engine;
let names = 0;

beforeAll(async () => {
  const crawler = defineCapability({
    name: "crawler",
    methods: {
      crawl: {
        input: { type: "object", properties: { pages: { type: "integer" } }, required: ["pages"] },
        output: { type: "object", properties: { found: { type: "integer" } }, required: ["found"] },
        handler: async ({ pages }: { pages: number }, { progress }) => {
          for (let page = 1; page <= pages; page++) {
            progress({ page });
            if (page % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
          }
          if (pages === 13) throw new Error("unlucky");
          return pages === 7 ? ("odd" as never) : { found: pages };
        },
      },
    },
  });
  const herald = defineCapability({
    name: "herald",
    methods: {
      flood: {
        handler: ({ values }: { values: number }, { progress }) => {
          for (let value = 1; value <= values; value++) progress(value);
        },
      },
    },
  });
  const bank = defineCapability({
    name: "bank",
    methods: {
      pay: {
        input: { type: "object", properties: { sum: { type: "integer", maximum: 100 } }, required: ["sum"] },
        output: UP_TO_LARGEST,
        handler: ({ sum }: { readonly sum: number }, { progress }) => {
          progress({ id: LARGEST });
          return sum === 1 ? LARGEST : LARGEST + 1n;
        },
      },
    },
  });
  const meter = defineCapability({
    name: "meter",
    rateLimit: { calls: 3, perMs: 3_600_000 },
    methods: { tick: { handler: () => "tick" } },
  });
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    capabilities: [bank, crawler, herald, meter],
    policy: { rules: [{ allow: GIVEN }] },
  });
});

afterAll(() => engine.close());

const codeOf = ({ success, error }: ToolResult): string => (success ? "ok" : (error?.code ?? ""));

async function run(source: string, args: Record<string, unknown> = {}, tenant = ""): Promise<ToolResult> {
  const name = `tool-${++names}`;
  await engine.register({ name, description: "a", source, capabilities: GIVEN });
  return engine.execute({ name, arguments: args }, { tenant });
}

const FOLLOW = `export default async (input, { host }) => {
  const seen = [];
  const result = await host.crawler.crawl(input, { onProgress: ({ page }) => seen.push(page) });
  return { seen, result };
};`;

describe("integers that no number holds", () => {
  const PAY = `export default async ({ sum }, { host }) => {
    const heard = [];
    const result = await host.bank.pay({ sum }, { onProgress: ({ id }) => heard.push(id) });
    return { heard, result };
  };`;

  test("are what a handler reports and returns, and its result is compared exactly with its schema", async () => {
    expect((await run(PAY, { sum: 1 })).output).toEqual({ heard: [`${LARGEST}`], result: `${LARGEST}` });
    expect((await run(PAY, { sum: 2 })).error?.message).toContain("bank.pay returned a value that does not match");
  });

  test.each([101, 10n ** 30n, `${10n ** 30n}`, 101n])("are refused as arguments beyond a bound: %s", async (sum) => {
    const { error } = await run(PAY, { sum });
    expect(error?.message).toContain("the arguments of bank.pay do not match its schema: /sum must be");
  });
});

describe("progress of a handler", () => {
  test("reaches the tool in order, before the result", async () => {
    const { output } = await run(FOLLOW, { pages: 6 });
    expect(output).toEqual({ seen: [1, 2, 3, 4, 5, 6], result: { found: 6 } });
  });

  test("is nothing to a tool that does not listen", async () => {
    const result = await run("export default (input, { host }) => host.crawler.crawl(input);", { pages: 3 });
    expect(result.output).toEqual({ found: 3 });
  });

  test("ends with the handler's failure", async () => {
    const result = await run(FOLLOW, { pages: 13 });
    expect([codeOf(result), result.error?.message]).toEqual(["capability_failed", expect.stringContaining("unlucky")]);
  });

  test("is checked like every call: its arguments, and what comes of them", async () => {
    expect((await run(FOLLOW, { pages: "many" })).error?.message).toContain("do not match its schema");
    expect((await run(FOLLOW, { pages: 7 })).error?.message).toContain("does not match its schema");
  });

  test("says how many values found no room, to whoever hears the next one", async () => {
    const source = `export default async (input, { host }) => {
      const heard = [];
      await host.herald.flood(input, { onProgress: (value, { missed }) => heard.push([value, missed]) });
      return { count: heard.length, missed: heard.reduce((sum, [, missed]) => sum + missed, 0), heard: heard.slice(0, 2) };
    };`;
    expect((await run(source, { values: 5_000 })).output).toEqual({
      count: 1_000,
      missed: 4_000,
      heard: [
        [4_001, 4_000],
        [4_002, 0],
      ],
    });
  });

  test("that a listener fails to hear ends with the listener's error, however often", async () => {
    const source = `export default async (input, { host }) => {
      const said = new Set();
      for (let i = 0; i < 20; i++) {
        const onProgress = () => { throw new RangeError("mine"); };
        await host.crawler.crawl({ pages: 13 }, { onProgress }).catch((error) => said.add(String(error)));
      }
      return [...said];
    };`;
    expect((await run(source)).output).toEqual(["RangeError: mine"]);
  });

  test("fails by the name of the method that the tool called", async () => {
    const source = `export default async (input, { host }) => {
      const said = [];
      for (const pages of [13, 7, "many"]) {
        await host.crawler.crawl({ pages }, { onProgress() {} }).catch(({ method, message }) => said.push(method, message));
      }
      return said;
    };`;
    const said = (await run(source)).output as string[];
    expect(said.filter((_, at) => at % 2 === 0)).toEqual(["crawl", "crawl", "crawl"]);
    expect(said[1]).toContain("crawler.crawl failed: unlucky");
    expect(said.join()).not.toContain("$");
  });

  test("that no call of the tool began cannot be asked for", async () => {
    const source = "export default (input, { host }) => host.crawler['crawl$end']({ stream: 9 });";
    expect(codeOf(await run(source))).toBe("capability_failed");
  });
});

describe("a rate limit", () => {
  const TICKS = `export default async (input, { host }) => {
    for (let i = 0; i < 3; i++) await host.meter.tick();
    return host.meter.tick();
  };`;

  test("refuses what is beyond it, and says when to ask again and what is granted", async () => {
    const result = await run(TICKS, {}, "acme");
    expect(codeOf(result)).toBe("capability_limit");
    expect(result.error?.details).toMatchObject({
      capability: "meter",
      granted: "3 calls of each tenant in 3600000 ms",
    });
  });

  test("is each tenant's own", async () => {
    expect(codeOf(await run("export default (input, { host }) => host.meter.tick();", {}, "other"))).toBe("ok");
  });
});

describe("a capability of the embedder's own", () => {
  const methods = { go: { handler: () => "went" } };
  const refusal = (options: unknown) => createEngine(options as EngineOptions).catch((error: unknown) => error);

  test.each([
    [
      "has the name of one of the engine's",
      [{ name: "env", methods }],
      '"env" cannot be the name of a capability: the engine',
    ],
    [
      "has a name that no program can write",
      [{ name: "a-b", methods }],
      '"a-b" cannot be the name of a capability: use a letter, and after it at most 63 letters, digits and _',
    ],
    [
      "has a method of such a name",
      [{ name: "walk", methods: { "a-b": methods.go } }],
      '"walk.a-b" cannot be the name of a method: use a letter, and after it at most 63 letters, digits and _',
    ],
    ["has no methods", [{ name: "walk" }], '"walk" has no methods'],
    ["has a method without a handler", [{ name: "walk", methods: { go: null } }], '"walk.go" has no handler'],
    ["is nothing", [null], "a capability is { name, methods }"],
    [
      "has a name that another has",
      [
        { name: "walk", methods },
        { name: "walk", methods },
      ],
      'two capabilities "walk"',
    ],
  ])("is refused where it %s", async (_what, capabilities, said) => {
    const refused = await refusal({ workers: 1, executor: "threads", capabilities });
    expect(refused).toBeInstanceOf(TypeError);
    expect(String(refused)).toContain(said);
  });

  test.each(["no", 0, "", [], {}, 1])("is given by true alone, and not by %j", async (given) => {
    const options = { workers: 1, executor: "threads", capabilities: [{ name: "walk", methods }] };
    const refused = await refusal({ ...options, policy: { rules: [{ allow: { walk: given } }] } });
    expect(refused).toBeInstanceOf(TypeError);
    expect(String(refused)).toContain("policy.rules[0].allow.walk: is true");
  });
});
