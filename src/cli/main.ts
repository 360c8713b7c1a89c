#!/usr/bin/env -S node --no-node-snapshot --no-warnings
import { EXIT } from "./exit.ts";
import { runCommandLine } from "./run-command-line.ts";

// A reader that closes early, such as `head`, is no failure.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => process.exit(code === "EPIPE" ? EXIT.OK : EXIT.FAILED));

await runCommandLine(process.argv.slice(2));
