import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { glovebox } from "./command.ts";

/** The text of a remedy as it is printed, without the indent. */
function remedyIn(stderr: string, head: string): string {
  const [, text = ""] = new RegExp(`remedy, ${head}[^\\n]*:\\n((?:  .*\\n)+)`).exec(stderr) ?? [];
  return text.replaceAll(/^ {2}/gm, "");
}

test("the printed remedy of capability_limit, pasted into the configuration, makes the same call succeed and grants nothing more", async () => {
  const tool = `export const spec = { name: "often", description: "Asks often.", capabilities: { kv: true } };
export default async (_, { host }) => { for (let i = 0; i < 150; i++) await host.kv.get("a"); return "done"; };`;
  const config = "tools: [./tools]\npolicy:\n  rules:\n    - allow: { kv: true }\n";
  const folder = await temporaryFolder({ "glovebox.config.yaml": config, "tools/often.js": tool });
  const granted = async (): Promise<unknown> => {
    const { stdout } = await glovebox(folder, ["explain", "often", "--json"]);
    return (JSON.parse(stdout) as { grants: unknown }).grants;
  };
  const before = await granted();
  const refused = await glovebox(folder, ["run", "often"]);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("capability_limit")]);
  await appendFile(join(folder, "glovebox.config.yaml"), remedyIn(refused.stderr, "in the configuration"));
  expect(await glovebox(folder, ["run", "often"])).toMatchObject({ code: 0, stdout: expect.stringContaining("done") });
  expect(await granted()).toEqual(before);
});

test("an error's code is explained by its page", async () => {
  const folder = await temporaryFolder({});
  const { code, stdout } = await glovebox(folder, ["explain", "capability_limit"]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^# .*capability_limit/)]);
  expect(await glovebox(folder, ["docs", "capability_limit"])).toMatchObject({ stdout });
});
