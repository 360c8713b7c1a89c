import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createRegistry,
  type RegistrationRecord,
  type Registry,
  type SearchOptions,
} from "../../../src/contrib/agentspace/index.ts";
import { sample } from "./bench.ts";

const record = (tool_id: string, changes: Partial<RegistrationRecord> = {}): RegistrationRecord => ({
  tool_id,
  tool_runtime_type: "python",
  tool_source_code_link: "./tool",
  tools_api_spec: { input: {}, output: {} },
  tool_data: {},
  ...changes,
});

const RECORDS = [
  sample("weather-forecast-v1"),
  record("increment", {
    tool_search_description: "Command-line tool to increment a number",
    tool_tags: ["binary", "math"],
    tool_type: "utility",
    tool_sub_type: "increment",
  }),
  record("translate", {
    tool_metadata: { description: "Translates text from one language to another" },
    tool_tags: ["text", "api"],
    tool_type: "model-inference",
    tool_sub_type: "translation",
  }),
  record("celsius", {
    tool_tags: ["math"],
    tool_type: "utility",
    tools_api_spec: { input: { fahrenheit: { type: "number", description: "Degrees to convert" } }, output: {} },
  }),
];

const NO_ENGINE = {
  register: () => Promise.reject(new Error("nothing is called")),
  unregister: () => Promise.resolve(false),
  get: () => undefined,
  execute: () => Promise.reject(new Error("nothing is called")),
};

async function registryOf(records: readonly RegistrationRecord[]): Promise<Registry> {
  const registry = await createRegistry(NO_ENGINE, { path: ":memory:" });
  for (const one of records) registry.register(one);
  return registry;
}

let index: Registry;
beforeAll(async () => {
  index = await registryOf(RECORDS);
});
afterAll(() => index.close());

const find = async (query: string, options: SearchOptions = {}) =>
  (await index.search(query, options)).hits.map((hit) => hit.tool_id);

describe("a search", () => {
  test("finds tools by every kind of what is said of them, the one that fits best first [C03 C40]", async () => {
    expect((await find("what will the weather be like tomorrow"))[0]).toBe("weather-forecast-v1");
    expect((await find("prediction"))[0]).toBe("weather-forecast-v1");
    expect(await find("increment")).toEqual(["increment"]);
    expect(await find("languages")).toEqual(["translate"]);
    expect(await find("fahrenheit")).toEqual(["celsius"]);
    expect(await find("celsius")).toEqual(["celsius", "weather-forecast-v1"]);
    expect(await find("utility")).toEqual(expect.arrayContaining(["increment", "celsius"]));
    expect(await find("zebra")).toEqual([]);
  });

  test("forgives a misspelling, and takes the beginning of a word for it", async () => {
    expect((await find("wether forcast"))[0]).toBe("weather-forecast-v1");
    expect(await find("transl")).toEqual(["translate"]);
  });

  test("keeps to tags, type and sub type, also where it has no words [C03 C40]", async () => {
    expect(await find("")).toEqual(RECORDS.map((one) => one.tool_id));
    expect(await find("", { type: "utility" })).toEqual(["increment", "celsius"]);
    expect(await find("api", { tags: ["api"] })).toEqual(expect.arrayContaining(["weather-forecast-v1", "translate"]));
    expect(await find("api", { tags: ["api", "text"] })).toEqual(["translate"]);
    expect(await find("weather", { subType: "translation" })).toEqual([]);
  });

  test("answers as many as are asked for", async () => {
    expect(await find("", { limit: 2 })).toHaveLength(2);
    expect(await find("", { limit: 0 })).toHaveLength(1);
  });

  test("takes any text, however long", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (query) => {
        for (const { score } of (await index.search(query)).hits) expect(score).toBeGreaterThanOrEqual(0);
      }),
    );
    expect(await find(`${"word ".repeat(1_000_000)} weather`)).toEqual([]);
  });
});

describe("an index", () => {
  test("follows the records: what is replaced or removed is not found, and what is new is", async () => {
    await using registry = await registryOf(RECORDS);
    const ids = async (query: string) => (await registry.search(query)).hits.map((hit) => hit.tool_id);
    expect(await ids("celsius")).toEqual(["celsius", "weather-forecast-v1"]);
    registry.register(record("celsius", { tool_search_description: "Kelvin" }), { replace: true });
    await registry.remove("weather-forecast-v1");
    expect(await ids("celsius")).toEqual(["celsius"]);
    expect(await ids("fahrenheit")).toEqual([]);
    expect(await ids("kelvin")).toEqual(["celsius"]);
  });

  test("finds a tenant's own tools and those of all, and no rank depends on the words of others", async () => {
    await using registry = await registryOf([record("shared", { tool_search_description: "greets politely" })]);
    registry.register(record("own", { tool_search_description: "greets loudly" }), { tenant: "a" });
    const hits = async (tenant: string) => {
      const found = (await registry.search("greets", { tenant })).hits;
      return found.map(({ tool_id: id, score }) => [id, score] as const);
    };
    const before = await hits("a");
    expect(before.map(([id]) => id).toSorted()).toEqual(["own", "shared"]);
    for (let at = 0; at < 20; at++) {
      registry.register(record(`b${at}`, { tool_search_description: "greets" }), { tenant: "b" });
    }
    expect(await hits("a")).toEqual(before);
    expect((await hits("c")).map(([id]) => id)).toEqual(["shared"]);
  });

  test("is not waited for by more searches of a tenant than eight", async () => {
    await using registry = await registryOf(RECORDS);
    const asked = await Promise.allSettled(Array.from({ length: 9 }, () => registry.search("weather")));
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(8);
    expect(asked.at(-1)).toMatchObject({ reason: { name: "RegistryError", code: "busy" } });
  });
});

describe("a ranking of the embedder's own", () => {
  test("sees all tools that are meant, those that fit first, and has the last word [C03]", async () => {
    const seen: string[][] = [];
    const rank: SearchOptions["rank"] = (query, candidates) => {
      seen.push([query, ...candidates.map((hit) => hit.tool_id)]);
      return ["celsius", "increment", "no-such-tool", "celsius"];
    };
    const answer = await index.search("increment", { rank, tags: ["math"] });
    expect(seen).toEqual([["increment", "increment", "celsius"]]);
    expect(answer.rankedBy).toBe("ranking");
    expect(answer.hits.map((hit) => hit.tool_id)).toEqual(["celsius", "increment"]);
    expect(await find("increment", { rank: () => ["celsius"], limit: 5 })).toEqual(["celsius"]);
    expect(await find("increment", { rank: () => Promise.resolve([]) })).toEqual([]);
  });

  test("that fails, answers nonsense or never ends leaves the order of the words [C03]", async () => {
    const rankings: readonly unknown[] = [
      () => {
        throw new Error("no model");
      },
      () => Promise.reject(new Error("no model")),
      () => "celsius",
      () => new Promise(() => undefined),
    ];
    for (const rank of rankings) {
      const answer = await index.search("increment", { rank, rankMs: 10 } as SearchOptions);
      expect(answer.rankedBy).toBe("words");
      expect(answer.hits.map((hit) => hit.tool_id)).toEqual(["increment"]);
    }
  });

  test("is told when nobody waits for it any more", async () => {
    let signal: AbortSignal | undefined;
    const rank: SearchOptions["rank"] = (_query, _candidates, given) => {
      signal = given;
      return new Promise(() => undefined);
    };
    await index.search("increment", { rank, rankMs: 1 });
    expect(signal?.aborted).toBe(true);
  });

  test("sees a hundred tools at most", async () => {
    await using many = await registryOf(Array.from({ length: 300 }, (_, at) => record(`tool-${at}`)));
    let seen = 0;
    const rank: SearchOptions["rank"] = (_query, candidates) => {
      seen = candidates.length;
      return [];
    };
    await many.search("tool", { rank });
    expect(seen).toBe(100);
  });
});
