import { afterAll } from "vitest";
import { usage, usageSince } from "./usage.ts";

// Programs that tests start refuse unknown variables of this prefix.
delete process.env["GLOVEBOX_TEST_REQUIRE"];

const isShared = process.env["TEST_SHARED"] !== undefined;
// A process that runs one file has loaded the runner before it: that is the file's too.
const start = isShared ? usage() : { cpuMs: 0, processes: 0, threads: 0 };
// oxlint-disable-next-line no-empty-pattern -- the runner reads from the pattern which fixtures a hook takes
afterAll(({}, suite) => {
  suite.file.meta.usage = usageSince(start);
});

// The last engine that closes ends the build processes: here all engines of a file use the same ones.
if (!isShared) {
  const { builds } = await import("../src/kernel/tool/build/builds.ts");
  const stop = builds.stop.bind(builds);
  builds.stop = () => undefined;
  afterAll(stop);
}
