import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { type Ended, glovebox as run, ROOT } from "./command.ts";

const MODULES = join(ROOT, "fixtures/contracts/amplifier");

const validate = (...args: string[]): Promise<Ended> => glovebox("validate", ...args);

/** Runs the command to its end, with no configuration around. */
async function glovebox(...args: string[]): Promise<Ended> {
  return run(await temporaryFolder({}), args);
}

describe("glovebox validate", () => {
  test("prints a line for each check, and ends with 0 where none is an error [A52]", async () => {
    const { code, stdout, stderr } = await validate(join(MODULES, "my_tool.js"), "--type", "tool");
    const lines = stdout.trimEnd().split("\n");
    expect([code, stderr]).toEqual([0, ""]);
    expect(lines[0]).toBe("pass     my_tool  load: loads in an isolate");
    expect(lines).toContain("warning  my_tool  schema: does not say what it expects as optional_param");
    expect(lines.at(-1)).toMatch(/^valid: error 0, warning 1, info 1, pass \d+$/);
  });

  test("ends with 3 where one is an error [A52]", async () => {
    const { code, stdout } = await validate(join(MODULES, "throws.js"));
    expect(code).toBe(3);
    expect(stdout).toMatch(/^error {4}throws unlucky {2}execute: given no input, throws: TypeError: it went wrong/m);
    expect(stdout).toMatch(/^not valid: error 2, /m);
  });

  test("is `module validate` as well, as the contract writes it, with the same codes [A52 A57]", async () => {
    const good = await glovebox("module", "validate", join(MODULES, "my_tool.js"), "--type", "tool");
    expect([good.code, good.stderr]).toEqual([0, ""]);
    expect(good.stdout).toMatch(/^valid: error 0, /m);
    expect((await glovebox("module", "validate", join(MODULES, "throws.js"), "--type", "tool")).code).toBe(3);
    const hook = await glovebox("module", "validate", MODULES, "--type", "hook");
    expect([hook.code, hook.stderr]).toEqual([2, expect.stringContaining("Allowed choices are tool.")]);
    const nowhere = await glovebox("module", "validate", join(MODULES, "nowhere.js"), "--type", "tool");
    expect([nowhere.code, nowhere.stderr]).toEqual([2, expect.stringMatching(/^glovebox: there is nothing at /)]);
    expect((await glovebox("module")).code).toBe(2);
  });

  test("says the same as JSON", async () => {
    const { code, stdout } = await validate(join(MODULES, "nothing.js"), "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([{ module: "nothing", contract: "amplifier" }]);
  });

  test("ends with 2 where there is nothing at the path, or no such type [A57]", async () => {
    const nowhere = await validate(join(MODULES, "nowhere.js"));
    expect(nowhere.code).toBe(2);
    expect(nowhere.stderr).toMatch(/^glovebox: there is nothing at .*nowhere\.js\n$/);
    const hook = await validate(MODULES, "--type", "hook");
    expect(hook.code).toBe(2);
    expect(hook.stderr).toContain("argument 'hook' is invalid. Allowed choices are tool.");
    expect((await validate()).code).toBe(2);
  });

  test("ends with 3 where there is no module at the path", async () => {
    const { code, stderr } = await validate(await temporaryFolder({ "notes.txt": "" }));
    expect([code, stderr]).toEqual([3, expect.stringContaining("holds no tools")]);
  });

  test("shows what a module says without its control characters", async () => {
    const text = `export async function mount() { throw new Error("\\u001b[2J\\u0007gone\\nnext"); }`;
    const { code, stdout } = await validate(join(await temporaryFolder({ "a.js": text }), "a.js"));
    expect(code).toBe(3);
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0007\u001b]/);
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  });
});
