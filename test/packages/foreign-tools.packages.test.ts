import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";
import { goldenTools } from "./foreign-tools/suite.ts";

/** The libraries in versions that their documentation is of. */
const LIBRARIES = {
  ai: "^7.0.173",
  "@openai/agents-core": "^0.20.0",
  "@langchain/core": "^1.4.0",
  "@mastra/core": "^1.71.0",
  "@modelcontextprotocol/sdk": "^1.32.2",
  zod: "^4.6.7",
};

const MODULES = fileURLToPath(new URL("foreign-tools", import.meta.url));
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-foreign-tools-"));
  await cp(MODULES, folder, { recursive: true });
  await writeFile(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: "module", dependencies: LIBRARIES }),
  );
  await promisify(execFile)("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

for (const library of ["ai-sdk", "openai-agents", "langchain", "mastra", "mcp-server"])
  goldenTools(library, () => folder);
