import { beforeAll, describe, expect, test } from "vitest";
import { compile } from "./project.ts";

/** The head of each program: an engine of two tools. */
const HEAD = `
import { createEngine, unwrap } from "glovebox";
interface Tools {
  readonly greet: { readonly input: { readonly name: string; readonly language?: "en" | "de" }; readonly output: { readonly text: string } };
  readonly "shop-count": { readonly input: { readonly item: string }; readonly output: { readonly count: number } };
}
const engine = await createEngine<Tools>();
`;

/** Mistakes of a newcomer, and what the compiler has to say of each. */
const MISTAKES: readonly (readonly [mistake: string, line: string, says: readonly string[]])[] = [
  [
    "a misspelt name",
    `await engine.execute({ name: "gret", arguments: { name: "Ada" } });`,
    ['"gret"', '"greet" | "shop-count"', "Did you mean '\"greet\"'?"],
  ],
  ["a missing argument", `await engine.execute({ name: "greet", arguments: {} });`, ["'name' is missing"]],
  ["a value that is not in the enum", `await engine.tools.greet({ name: "Ada", language: "fr" });`, ['"fr"', '"en"']],
  [
    "an output that is read before success",
    `(await engine.execute({ name: "greet", arguments: { name: "Ada" } })).output.text;`,
    ["of type 'unknown'"],
  ],
  [
    "an output that does not exist",
    `unwrap(await engine.tools.greet({ name: "Ada" })).txt;`,
    ["'txt' does not exist", "Did you mean 'text'?"],
  ],
  ["a tool function that does not exist", `await engine.tools.gret({ name: "Ada" });`, ["Did you mean 'greet'?"]],
  [
    "an error code that does not exist",
    `const { error } = await engine.tools.greet({ name: "Ada" }); if (error?.code === "queue_fulll") void 0;`,
    ['"queue_fulll"'],
  ],
  [
    "a wrong option",
    `await engine.tools.greet({ name: "Ada" }, { tenat: "acme" });`,
    ["Did you mean to write 'tenant'?"],
  ],
  [
    "a definition with code of this process",
    `await engine.register({ name: "x", description: "x", source: "", run: () => 1 });`,
    ["'() => number' is not assignable to type 'undefined'"],
  ],
  ["an event that does not exist", `engine.on("tool:posted", () => undefined);`, ['"tool:posted"']],
];

let printed = "";

beforeAll(async () => {
  const programs = MISTAKES.map(([, line], at) => [`${at}.ts`, `${HEAD}${line}\nexport {};\n`]);
  printed = await compile(Object.fromEntries(programs), { compilerOptions: { noUnusedLocals: false } });
}, 300_000);

describe("the compiler's message of", () => {
  test.each(MISTAKES.map(([mistake, , says], at) => [mistake, at, says] as const))("%s", (_, at, says) => {
    const lines = printed.split("\n");
    const first = lines.findIndex((line) => line.startsWith(`${at}.ts(`));
    expect(first, printed).toBeGreaterThanOrEqual(0);
    const rest = lines.slice(first + 1);
    const end = rest.findIndex((line) => !line.startsWith(" "));
    const message = [lines[first], ...rest.slice(0, end < 0 ? rest.length : end)].join("\n");
    for (const text of says) expect(message).toContain(text);
  });
});
