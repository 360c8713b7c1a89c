import { describe, expect, test } from "vitest";
import { createEngine, type Isolation } from "../../../../src/glovebox/index.ts";

/** Loads a module and calls it once. */
async function outcomeOf(source: string, isolation?: Isolation) {
  await using engine = await createEngine({ executor: "threads", workers: 1 });
  const own = isolation === undefined ? {} : { isolation };
  await engine.register({ name: "loaded", description: "A module.", source, ...own });
  const result = await engine.execute({ name: "loaded", arguments: {} });
  return { output: result.output, logs: result.metadata.logs.map(({ message }) => message) };
}

describe("A module that loads in no realm", () => {
  const source = "Array.prototype.own = 1; new undefined.Missing(); export default () => 1;";

  test.each([undefined, "context"] as const)(
    "fails with the reason of the open one, at the level %s",
    async (level) => {
      await expect(outcomeOf(source, level)).rejects.toThrow(/cannot be evaluated: .*reading 'Missing'/);
    },
  );
});

describe("A module that leaves a rejection behind", () => {
  const ends = "export default () => 'called';";

  test("is refused for it", async () => {
    await expect(outcomeOf(`Promise.reject(new Error("a mistake")); ${ends}`)).rejects.toThrow(
      /leaves a rejection behind: a mistake/,
    );
  });

  test("loads where it tried what an isolate cannot have, and each call's log says so", async () => {
    const source = `import net from "node:net"; const tries = async () => net.connect(80); tries(); tries().catch(); ${ends}`;
    const { output, logs } = await outcomeOf(source);
    expect(output).toBe("called");
    expect(logs).toEqual([
      expect.stringMatching(/^unhandled rejection: net\.connect does not exist inside an isolate: use/),
    ]);
  });

  test("loads where it took WebAssembly for granted, which is told in the words of a refusal", async () => {
    const { output, logs } = await outcomeOf(`(async () => WebAssembly.compile())(); ${ends}`);
    expect(output).toBe("called");
    expect(logs).toEqual([
      expect.stringMatching(/^unhandled rejection: WebAssembly does not exist inside an isolate: use/),
    ]);
  });
});

test("A module that needs WebAssembly to load is told so in the words of a refusal", async () => {
  await expect(outcomeOf("new WebAssembly.Memory(); export default () => 1;")).rejects.toThrow(
    /cannot be evaluated: WebAssembly does not exist inside an isolate: use a package in JavaScript/,
  );
});
