import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";

const SOURCE = `
import random
from random import gauss, random as fraction

def execute(input):
    match input["what"]:
        case "fresh":
            return [random.random(), fraction(), random.randint(1, 10**9), gauss(0, 1), random.sample(range(10**6), 3)]
        case "seeded":
            random.seed(42)
            return [random.random(), random.randint(1, 100)]
        case "state":
            state = random.getstate()
            first = random.random()
            random.setstate(state)
            return first == random.random()
`;

describe("Python's randomness", () => {
  let engine: Engine;

  beforeAll(async () => {
    engine = await createEngine({ executor: { kind: "process", spare: false }, workers: 1 });
    const name = "dice";
    await engine.register({ name, description: "Throws dice.", runtime: "python", source: SOURCE });
  }, 300_000);

  afterAll(() => engine.close());

  const ask = async (what: string) => (await engine.execute({ name: "dice", arguments: { what } })).output;

  test("is another one for each call", async () => {
    const [one, other] = [await ask("fresh"), await ask("fresh")] as [unknown[], unknown[]];
    for (const [index, value] of one.entries()) expect(value).not.toEqual(other[index]);
  });

  test("is the same where a tool seeds it, and forgotten by the next call", async () => {
    expect(await ask("seeded")).toEqual([0.6394267984578837, 4]);
    const [fresh] = (await ask("fresh")) as number[];
    expect(fresh).not.toBe(0.6394267984578837);
    expect(await ask("seeded")).toEqual([0.6394267984578837, 4]);
  });

  test("has a state that can be kept and put back", async () => {
    expect(await ask("state")).toBe(true);
  });
});
