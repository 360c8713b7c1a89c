import { readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";
import { temporaryFolder } from "../../tool/temporary.ts";
import { JOBS } from "./jobs.ts";

const FOLDER = fileURLToPath(new URL("../../../../fixtures/packages", import.meta.url));

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ executor: "threads", workers: 1 });
});

afterAll(async () => {
  await engine.close();
});

const output = async (name: string, input: Readonly<Record<string, unknown>>): Promise<unknown> => {
  const result = await engine.execute({ name, arguments: input });
  expect(result.error).toBeNull();
  return result.output;
};

describe("a tool that imports a package from npm", () => {
  test.each(JOBS)(
    "does its job with a fresh instance for each call: $name",
    async ({ name, input, output: expected }) => {
      const info = await engine.register({ name, description: "A job.", entry: path.join(FOLDER, `${name}.ts`) });
      expect(info.isolationReason).toBeUndefined();
      expect(info.isolation).toBe("instance");
      expect(await output(name, input)).toEqual(expected);
      expect(await output(name, input)).toEqual(expected);
    },
  );

  test("has its job in this table, each of them", () => {
    const tools = readdirSync(FOLDER).filter((file) => /(?<!\.d)\.ts$/.test(file));
    expect(tools.map((file) => path.basename(file, ".ts")).toSorted()).toEqual(JOBS.map(({ name }) => name).toSorted());
  });

  test("can keep what is slow to evaluate: mathjs, shared", async () => {
    const entry = path.join(FOLDER, "mathjs.ts");
    const info = await engine.register({ name: "kept", description: "A job.", entry, isolation: "shared" });
    expect(info.isolation).toBe("shared");
    const { input, output: expected } = JOBS.find(({ name }) => name === "mathjs") ?? { input: {}, output: null };
    for (let call = 0; call < 3; call++) expect(await output("kept", input)).toEqual(expected);
  });
});

describe("a package that knows Node", () => {
  /** Registers a tool that gives what its package exports. */
  async function register(code: string): Promise<void> {
    const folder = await temporaryFolder({
      "tool.js": `import found from "p"; export default () => (typeof found === "function" ? found() : found);`,
      "node_modules/p/index.js": code,
    });
    await engine.register({ name: "user", description: "A job.", entry: path.join(folder, "tool.js") });
  }

  test("finds it where it looks first", async () => {
    await register(`
      const isNode = typeof process !== "undefined" && process.versions != null && process.versions.node != null;
      const bytes = typeof Buffer === "function" ? Buffer.from("a") : new Uint8Array(1);
      let fs; try { fs = require("node:fs"); } catch {}
      const root = typeof global !== "undefined" ? global : self;
      module.exports = [isNode, bytes.length, typeof fs, root === globalThis, process.env.NODE_ENV];`);
    expect(await output("user", {})).toEqual([true, 1, "object", true, "production"]);
  });

  test("is told what to use where it uses what an isolate cannot have", async () => {
    await register(`module.exports = () => require("fs").readFileSync("/etc/hostname");`);
    const { error } = await engine.execute({ name: "user", arguments: {} });
    expect(error?.message).toContain('use fs.promises with a grant of the capability "fs"');
    expect(JSON.stringify(error?.details)).toContain("node_modules/p/index.js:1");
  });

  test("has what a module before it sets on the global", async () => {
    const folder = await temporaryFolder({
      "tool.js": `import "./buffer.js"; import found from "p"; export default () => found;`,
      "buffer.js": `globalThis.Buffer = { from: (text) => [text] };`,
      "node_modules/p/index.js": `module.exports = Buffer.from("a");`,
    });
    const info = await engine.register({ name: "user", description: "A job.", entry: path.join(folder, "tool.js") });
    expect(info.isolation).toBe("instance");
    expect(await output("user", {})).toEqual(["a"]);
  });

  test("may turn stacks off for a moment", async () => {
    await register(
      `module.exports = () => { const was = Error.stackTraceLimit; Error.stackTraceLimit = 0; Error.stackTraceLimit = was; return 1; };`,
    );
    expect(await output("user", {})).toBe(1);
  });

  test("may change how stacks are made for a moment", async () => {
    await register(
      `module.exports = () => { const was = Error.prepareStackTrace; Error.prepareStackTrace = () => 0; Error.prepareStackTrace = was; return 1; };`,
    );
    expect(await output("user", {})).toBe(1);
  });

  test("is in no browser, although an isolate has a window", async () => {
    await register(`const window$ = 1; module.exports = () => [typeof window, typeof window$, window === globalThis];`);
    expect(await output("user", {})).toEqual(["undefined", "number", true]);
  });

  test("imports modules of Node by names that it computes, and no others", async () => {
    await register(`module.exports = async () => {
      const late = (name) => import(/* webpackIgnore: true */ name);
      const { join, default: path } = await late(["node", "path"].join(":"));
      return [join("a", "b"), path.join("c", "d"), await late("p").catch(({ message }) => message)];
    };`);
    expect(await output("user", {})).toEqual(["a/b", "c/d", expect.stringContaining("Cannot find module 'p'")]);
  });

  test.each([
    [
      "adds a member to a built-in",
      `if (!Math.sumOfAll) Object.defineProperty(Math, "sumOfAll", { value: () => 3 });`,
      "Math.sumOfAll(1, 2)",
    ],
    [
      "makes functions of texts with a global that it names",
      "globalThis[key] = 3; class Made extends Function {}",
      'new Made("return $own")()',
    ],
  ])("has a realm of its own for each call where it %s when it is called", async (_what, does, says) => {
    await register(`const key = "$own"; module.exports = () => { ${does} return ${says}; };`);
    expect(engine.get("user")).toMatchObject({ isolation: "context", isolationReason: expect.any(String) });
    expect(await output("user", {})).toBe(3);
    expect(await output("user", {})).toBe(3);
  });
});
