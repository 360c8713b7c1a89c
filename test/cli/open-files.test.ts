import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const SOURCE = new URL("../../src/cli/open-files.ts", import.meta.url).href;

/** What a process says that may open so many files. */
function saidWith(limit: string): string {
  const script = `ulimit -n ${limit}; exec "$0" --no-warnings --input-type=module -e "$1"`;
  const program = `import { warnOfFiles } from ${JSON.stringify(SOURCE)}; warnOfFiles();`;
  return spawnSync("sh", ["-c", script, process.execPath, program], { encoding: "utf8" }).stderr;
}

test("a service that may open few files says how many, how many it needs, and how to raise the limit", () => {
  expect(saidWith("300")).toMatch(
    /^glovebox: warning: this process may open 300 files, and has \d+ open after its start: 2\d\d are left .+; raise the limit to 65,536 .+ulimit -n elsewhere\)\n$/,
  );
});

test("a service that may open many files says nothing of them", () => {
  expect(saidWith("2000")).toBe("");
});
