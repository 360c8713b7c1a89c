#!/usr/bin/env -S node --no-warnings
import { EXIT } from "./exit.ts";
import { leaveFirstPlace } from "./first-process.ts";
import { runCommandLine } from "./run-command-line.ts";
import { logAll } from "./service-log.ts";

/** Commands whose stderr is a log. */
const SERVICES: ReadonlySet<string | undefined> = new Set(["serve", "worker", "mcp"]);

// A reader that closes early, such as `head`, is no failure.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => process.exit(code === "EPIPE" ? EXIT.OK : EXIT.FAILED));

const args = process.argv.slice(2);
if (SERVICES.has(args[0])) {
  await logAll();
  leaveFirstPlace();
}
await runCommandLine(args);
