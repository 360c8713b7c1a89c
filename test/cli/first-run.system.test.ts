// needs: curl
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { once } from "node:events";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryFolder } from "../kernel/tool/temporary.ts";
import { MAIN } from "../server/served.ts";

const SCRIPT = "/usr/bin/script";
const TOOL = `export const spec = {
  name: "greet",
  description: "Greets.",
  inputSchema: { type: "object", properties: { name: { type: "string", minLength: 1 } }, required: ["name"] },
  examples: [{ input: { name: "it's" } }],
};
export default ({ name }) => name;`;

test.skipIf(!existsSync(SCRIPT))("mcp on a terminal says that it waits for a client", async () => {
  const folder = await temporaryFolder({ "tools/greet.js": TOOL });
  const words = [process.execPath, ...MAIN, "mcp", "tools"];
  const child = spawn(SCRIPT, ["-qec", `exec ${words.join(" ")}`, "/dev/null"], {
    cwd: folder,
    stdio: ["pipe", "pipe", "ignore"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await expect.poll(() => output).toContain("waits for messages of an MCP client");
  child.stdin.write("\u0003");
  await once(child, "exit");
});

test.skipIf(!existsSync(SCRIPT))(
  "serve on a terminal says what it serves, where the console is, how to call a tool, and which walls are missing",
  async () => {
    const folder = await temporaryFolder({ "tools/greet.js": TOOL });
    const words = [process.execPath, ...MAIN, "serve", "tools", "--port", "0"];
    const child = spawn(SCRIPT, ["-qec", `exec ${words.join(" ")}`, "/dev/null"], {
      cwd: folder,
      stdio: ["pipe", "pipe", "ignore"],
    });
    try {
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
      await expect.poll(() => output, { timeout: 120_000 }).toMatch(/^ {2}(?:missing|walls) {2}/m);
      expect(output).toMatch(/^ {2}tools {4}1: greet\r$/m);
      const [, url = ""] = /^ {2}console {2}(\S+)\/\r$/m.exec(output) ?? [];
      const [, curl = ""] = /^ {2}call {5}(curl .+)\r$/m.exec(output) ?? [];
      expect(curl).toContain(url);
      const { stdout } = await promisify(execFile)("sh", ["-c", curl]);
      expect(JSON.parse(stdout)).toMatchObject({ success: true, output: "it's" });
    } finally {
      child.stdin.write("\u0003");
      // It writes into its folder, which is removed next, until it has ended.
      await once(child, "exit");
    }
  },
);
