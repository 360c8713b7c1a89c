import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { glovebox } from "./command.ts";

const HOSTILE = 'A"\nkeys: [{ name: x }]\n#';
const tool = (names: readonly string[], asked: string): string => `
export const spec = {
  name: "region",
  description: "Says where it runs.",
  capabilities: { env: ${JSON.stringify(names)}, fetch: { origins: ["http://169.254.169.254"] } },
};
export default async (_input, { host }) => host.env.get(${JSON.stringify(asked)});
`;
const CONFIG =
  "# the service\ntools: [./region.js]\npolicy:\n  rules:\n    - allow: { env: [HOME] } # for all\n# end\n";

describe("glovebox explain --apply", () => {
  test("shows and writes the rule under which the call succeeds, and grants nothing else", async () => {
    const folder = await temporaryFolder({
      "region.js": tool(["REGION", "HOME"], "REGION"),
      "glovebox.config.yaml": CONFIG,
    });
    const env = { REGION: "north" };
    const denied = await glovebox(folder, ["run", "region"], env);
    expect([denied.code, denied.stderr]).toEqual([1, expect.stringContaining("capability_denied")]);
    const applied = await glovebox(folder, ["explain", "region", "--apply"], env);
    expect(applied.code).toBe(1);
    expect(applied.stderr).toBe(
      "not offered: /capabilities/fetch/origins/0: it is no public address, or a metadata service\nadded to glovebox.config.yaml\n",
    );
    expect(applied.stdout).toContain('+     - tools: ["region"]\n+       allow: {"env":["REGION"]}\n');
    expect(await readFile(join(folder, "glovebox.config.yaml"), "utf8")).toBe(
      CONFIG.replace("# for all\n", '# for all\n    - tools: ["region"]\n      allow: {"env":["REGION"]}\n'),
    );
    expect(await glovebox(folder, ["run", "region"], env)).toEqual({ code: 0, stdout: '"north"\n', stderr: "" });
    const { grants } = JSON.parse((await glovebox(folder, ["explain", "region", "--json"])).stdout) as {
      grants: object[];
    };
    expect(grants).toEqual([
      { capability: "env", granted: '"HOME"', from: "policy.rules[0]" },
      { capability: "env", granted: '"REGION"', from: "policy.rules[1]" },
    ]);
  });

  test("writes texts of a tool as quoted values, and makes a file where nothing is there", async () => {
    const folder = await temporaryFolder({ "region.js": tool([HOSTILE], "REGION") });
    const shown = await glovebox(folder, ["explain", "region", "--yaml", "--tools", "region.js", "--tenant", "acme"]);
    const rule = { tools: ["region"], tenants: ["acme"], allow: { env: [HOSTILE] } };
    expect(parse(shown.stdout)).toEqual([rule]);
    const applied = await glovebox(folder, [
      "explain",
      "region",
      "--apply",
      "--tools",
      "region.js",
      "--tenant",
      "acme",
      "--json",
    ]);
    expect(JSON.parse(applied.stdout)).toMatchObject({ rule, file: "glovebox.config.yaml" });
    expect(parse(await readFile(join(folder, "glovebox.config.yaml"), "utf8"))).toEqual({ policy: { rules: [rule] } });
  });

  test("ends with 2 without a tool, and where there is no such tool", async () => {
    const folder = await temporaryFolder({ "region.js": tool(["REGION"], "REGION"), "glovebox.config.yaml": CONFIG });
    const results = await Promise.all([
      glovebox(folder, ["explain", "--apply"]),
      glovebox(folder, ["explain", "nobody", "--yaml"]),
    ]);
    expect(results.map(({ code }) => code)).toEqual([2, 2]);
    expect(await readFile(join(folder, "glovebox.config.yaml"), "utf8")).toBe(CONFIG);
  });
});
