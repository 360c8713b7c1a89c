import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ADAPTERS = new URL("../../../../src/contrib/agents/adapters/index.ts", import.meta.url).href;
const PROGRAM = `
import { registerHooks } from "node:module";
const urls = new Set();
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    urls.add(found.url);
    return found;
  },
});
await import(${JSON.stringify(ADAPTERS)});
console.log(JSON.stringify([...urls]));
`;

test("an import of the adapters loads contracts of calls, and neither a package nor what registers tools", async () => {
  const args = ["--no-warnings", "--input-type=module", "-e", PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: {} });
  const files = (JSON.parse(stdout) as string[]).filter((url) => url.startsWith("file:"));
  expect(files.filter((url) => url.includes("/node_modules/"))).toEqual([]);
  expect(files.filter((url) => /\/kernel\/(?:broker|executor|engine)\//.test(url))).toEqual([]);
  expect(files.length).toBeLessThanOrEqual(41);
});
