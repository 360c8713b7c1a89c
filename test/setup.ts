import { afterAll } from "vitest";
import { KINDS, type Kind } from "./kinds.ts";
import { usage, usageSince } from "./usage.ts";

// Programs that tests start refuse unknown variables of this prefix.
delete process.env["GLOVEBOX_TEST_REQUIRE"];

const kind = process.env["TEST_KIND"] as Kind;
// A process that runs one file has loaded the runner before it: that is the file's too.
const start = KINDS[kind].isShared ? usage() : { cpuMs: 0, processes: 0, threads: 0 };
// oxlint-disable-next-line no-empty-pattern -- the runner reads from the pattern which fixtures a hook takes
afterAll(({}, suite) => {
  suite.file.meta.usage = usageSince(start);
});

// Unit tests of builds end them.
if (kind !== "unit") await import("./kept-builds.ts");
