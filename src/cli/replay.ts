import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { Command } from "commander";
import type { Recording } from "../kernel/engine/replay/recording.ts";
import { CliError, EXIT } from "./exit.ts";
import { outputText, resultText } from "../kernel/base/result.ts";
import { print, say } from "./output.ts";

const FILE_MAX_BYTES = 512 * 1024 * 1024;

const INSPECT = "127.0.0.1:9229";

interface Options {
  readonly url: string;
  readonly keyEnv?: string;
  readonly result?: true;
  readonly json?: true;
  readonly inspect?: string | true;
}

/** `glovebox replay`: runs a recorded call again, offline. */
export function replayCommand(): Command {
  return new Command("replay")
    .description("replay a recorded call offline and compare its result with the recorded one")
    .argument("<file>", "recording, as `run --record FILE` writes it, or the id of a call that a server has kept")
    .option("--url <url>", "address of the server that has kept the call", "http://127.0.0.1:8080")
    .option("--key-env <name>", "environment variable with a key that has the role calls")
    .option("--result", "print the whole result instead of its output")
    .option("--json", "print JSON: the result, and whether it is the recorded one")
    .option(
      "--inspect [address]",
      "run the call under a debugger listening at this address (default: 127.0.0.1:9229); the tool then runs " +
        "outside an isolate, contained only by a V8 context and Node's permissions: debug only code that you trust",
    )
    .action(replay);
}

async function replay(file: string, options: Options): Promise<void> {
  if (!existsSync(file) && !/[/\\]|\.json$/.test(file) && options.inspect === undefined) {
    const { replayKeptCall } = await import("./calls.ts");
    return replayKeptCall(file, options).catch((error: unknown) => {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.UNREACHABLE) throw error;
      throw new CliError(
        error.exitCode,
        `there is no file ${file}, nor a server with a call of this id: ${error.message}`,
      );
    });
  }
  const recording = await readRecordingFile(file);
  if (options.inspect !== undefined) return inspect(recording, options.inspect === true ? INSPECT : options.inspect);
  const { requireReplayable } = await import("../kernel/engine/replay/recording.ts");
  orRefuse(file, () => requireReplayable(recording));
  const { replayCall } = await import("../standard/create-engine.ts");
  const { result, isSame } = await replayCall(recording);
  process.exitCode = isSame ? EXIT.OK : EXIT.FAILED;
  if (options.json === true) return print(`{"isSame":${isSame},"result":${resultText(result)}}`);
  for (const { level, message } of result.metadata.logs) say(`[${level}] ${message}`);
  if (options.result === true) print(resultText(result));
  else if (result.success) print(outputText(result));
  if (result.error !== null && options.result !== true) say(`glovebox: ${result.error.code}: ${result.error.message}`);
  say(isSame ? "glovebox: same result as recorded" : "glovebox: the result differs from the recorded one");
}

/** Runs the call outside of an isolate, so that a debugger can attach. */
async function inspect(recording: Recording, address: string): Promise<void> {
  const { PLUGINS } = await import("../standard/plugins.ts");
  const { debugCall } = await import("../kernel/engine/replay/debug/debug-call.ts");
  const { ok, payload } = await debugCall(recording, {
    inspect: address,
    plugins: PLUGINS,
    onNotice: (text) => say(text.trimEnd()),
    onLog: (level, message) => say(`[${level}] ${message}`),
  });
  if (ok) print(payload);
  else say(`glovebox: ${payload}`);
  process.exitCode = ok ? EXIT.OK : EXIT.FAILED;
}

/** Reads a recording of `run --record`. Rejects with a `CliError` if it cannot be used. */
export async function readRecordingFile(file: string): Promise<Recording> {
  const found = await stat(file).catch(() => {
    throw new CliError(EXIT.USAGE, `there is no file ${file}`);
  });
  if (found.size > FILE_MAX_BYTES) throw new CliError(EXIT.INVALID, `${file} has more than ${FILE_MAX_BYTES} bytes`);
  const text = await readFile(file, "utf8");
  const { readRecording } = await import("../kernel/engine/replay/recording.ts");
  return orRefuse(file, () => readRecording(text));
}

/** Reports an unusable recording as invalid input. */
function orRefuse<T>(file: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new CliError(EXIT.INVALID, `${file}: ${error instanceof Error ? error.message : "it cannot be read"}`);
  }
}
