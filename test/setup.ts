import { afterAll } from "vitest";
import { usage, usageSince } from "./usage.ts";

// Programs that tests start refuse unknown variables of this prefix.
delete process.env["GLOVEBOX_TEST_REQUIRE"];

// A process that runs one file has loaded the runner before it: that is the file's too.
const start = process.env["GLOVEBOX_TEST_SHARED"] === undefined ? { cpuMs: 0, processes: 0, threads: 0 } : usage();
afterAll(({}, suite) => {
  suite.file.meta.usage = usageSince(start);
});
