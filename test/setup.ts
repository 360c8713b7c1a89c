import { afterAll } from "vitest";
import { takeUsage } from "./usage.ts";

// Programs that tests start refuse unknown variables of this prefix.
delete process.env["GLOVEBOX_TEST_REQUIRE"];

// oxlint-disable-next-line no-empty-pattern -- the runner reads from the pattern which fixtures a hook takes
afterAll(({}, suite) => {
  suite.file.meta.usage = takeUsage();
});

// Unit tests of builds end them.
if (process.env["TEST_KIND"] !== "unit") await import("./kept-builds.ts");
