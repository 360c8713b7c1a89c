import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";
import { longestTurnDuring } from "../../../turns.ts";

/** Processor time that the host's thread may spend in one turn of its loop: less than 50 on a quiet machine. */
const LOOP_MS = 250;

let engine: Engine;
let folder: string;
beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  folder = await mkdtemp(path.join(tmpdir(), "glovebox-hostile-"));
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

/** What registering a module, then calling it twice, comes to; the loop stays free. */
async function outcomeOf(name: string, source: string): Promise<readonly unknown[]> {
  const outcome: unknown[] = [];
  const longestMs = await longestTurnDuring(async () => {
    try {
      await engine.register({ name, description: "A module.", source });
      for (let call = 0; call < 2; call++) {
        const { error, output } = await engine.execute({ name, arguments: {} });
        outcome.push(error === null ? output : error.code);
      }
    } catch (error) {
      outcome.push(error instanceof Error ? error.message.slice(0, 300) : error);
    }
  });
  expect(longestMs).toBeLessThan(LOOP_MS);
  return outcome;
}

test("10,000 imports of Node's names are read within limits", async () => {
  const names = builtinModules.filter((name) => !name.startsWith("_"));
  const imports = Array.from(
    { length: 10_000 },
    (_, at) => `import * as m${at} from "node:${names[at % names.length]}";`,
  );
  const uses = Array.from({ length: 10_000 }, (_, at) => `m${at}`).join(",");
  const source = `${imports.join("\n")}\nconst all = [${uses}];\nexport default () => all.length;`;
  expect(await outcomeOf("many_imports", source)).toEqual([10_000, 10_000]);
});

test("a require of a computed name finds Node's names, and says of others that they are not there", async () => {
  const source = `const load = (name) => { try { return typeof require(name).join; } catch (error) { return error.code; } };
    module.exports = () => ["pa" + "th", "/etc/pass" + "wd", "left" + "pad"].map(load);`;
  expect(await outcomeOf("computed", source)).toEqual([
    ["function", "MODULE_NOT_FOUND", "MODULE_NOT_FOUND"],
    ["function", "MODULE_NOT_FOUND", "MODULE_NOT_FOUND"],
  ]);
});

describe("a module that overwrites at its load", () => {
  const answers = (set: string, read: string): string => `const before = ${read};
    let failed = "";
    try { ${set} } catch (error) { failed = error.name; }
    export default () => [before, failed, ${read}];`;

  test.each([
    [
      "Buffer.prototype",
      "Buffer.prototype = { mine: 1 };",
      "typeof Buffer.prototype.mine",
      ["undefined", "TypeError", "undefined"],
    ],
    [
      "a method of Buffer.prototype",
      "Buffer.prototype.toString = () => 'mine';",
      "String(Buffer.from('a'))",
      ["a", "TypeError", "a"],
    ],
    ["process.env", "process.env = { MINE: '1' };", "process.env.MINE ?? ''", ["", "", "1"]],
    [
      "globalThis.crypto",
      "globalThis.crypto = { mine: 1 };",
      "typeof globalThis.crypto.mine",
      ["undefined", "", "number"],
    ],
    [
      "crypto.subtle",
      "crypto.subtle.digest = () => 'mine';",
      "typeof crypto.subtle.digest",
      ["function", "TypeError", "function"],
    ],
  ])("%s is seen in its own call at most", async (what, set, read, expected) => {
    const name = what.replaceAll(/\W/g, "_");
    expect(await outcomeOf(name, answers(set, read))).toEqual([expected, expected]);
  });
});

test("a tsconfig.json of 10 MB is refused", async () => {
  const file = path.join(folder, "tool.ts");
  const many = Array.from({ length: 220_000 }, (_, at) => [`@alias-${at}/*`, [`./somewhere/else/${at}/*`]] as const);
  const paths = { ...Object.fromEntries(many), "@mine": ["./value.ts"] };
  const config = JSON.stringify({ compilerOptions: { paths } });
  expect(config.length).toBeGreaterThan(10_000_000);
  await writeFile(path.join(folder, "package.json"), "{}");
  await writeFile(path.join(folder, "tsconfig.json"), config);
  await writeFile(path.join(folder, "value.ts"), "export default 7;");
  await writeFile(
    file,
    'import value from "@mine";\nexport const spec = { description: "Aliased." };\nexport default () => value;',
  );
  const longestMs = await longestTurnDuring(() =>
    expect(engine.register(file)).rejects.toThrow("tsconfig.json, which is larger than 1048576 bytes"),
  );
  expect(longestMs).toBeLessThan(LOOP_MS);
});
