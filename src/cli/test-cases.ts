import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Engine } from "../kernel/engine/engine.ts";
import type { Recording, RecordedOutcome } from "../kernel/engine/replay/recording.ts";
import type { RecordingReplays } from "../kernel/engine/replay/replay-recording.ts";
import { DIVERGED } from "../kernel/base/protocol/capability-call.ts";
import type { ToolResult } from "../kernel/base/result.ts";
import type { ToolExample } from "../kernel/tool/definition.ts";
import { CliError, EXIT } from "./exit.ts";
import { comparableJson } from "./line-diff.ts";
import { readRecordingFile } from "./replay.ts";

/** An example or a recording of a tool, with its outcome. */
export interface TestCase {
  readonly tool: string;
  readonly kind: "example" | "recording";
  /** `example 1: a name`, or the recording's file. */
  readonly name: string;
  readonly ok: boolean;
  /** Whether the recording was rewritten. */
  readonly isUpdated: boolean;
  /** JSON that differs if and only if the outcome does. */
  readonly expected: string;
  readonly received: string;
  /** A problem other than the difference. */
  readonly message: string | null;
}

const DEFAULT_FOLDER = "recordings";

/** Runs the examples of all tools, one after the other, with the grants of the configuration. */
export async function* exampleCases(engine: Engine): AsyncGenerator<TestCase> {
  for (const { name: tool, examples = [] } of engine.list()) {
    for (const [at, example] of examples.entries()) {
      const result = await engine.execute({ name: tool, arguments: example.input as Record<string, unknown> });
      const name = `example ${at + 1}${example.name === undefined ? "" : `: ${example.name}`}`;
      yield { tool, kind: "example", name, isUpdated: false, ...judge(example, result) };
    }
  }
}

type Judgement = Pick<TestCase, "ok" | "expected" | "received" | "message">;

function judge(example: ToolExample, { success, output, error }: ToolResult): Judgement {
  const compare = (expected: unknown, received: unknown): Judgement => {
    const texts = { expected: comparableJson(expected), received: comparableJson(received) };
    return { ...texts, ok: texts.expected === texts.received, message: null };
  };
  if (example.error !== undefined) {
    const expected = { error: example.error };
    return compare(expected, success ? { output } : { error: error.code });
  }
  // An example may lack an output.
  const says = Object.hasOwn(example, "output");
  const expected = says ? { output: example.output } : { success };
  if (success) return compare(expected, says ? { output } : { success });
  return { ...compare(says ? expected : { success: true }, { error: error.code }), ok: false, message: error.message };
}

/** Replays the recordings of a folder with the code that their tools have now. */
export async function* recordingCases(
  engine: Engine,
  folder: string | undefined,
  isUpdating: boolean,
): AsyncGenerator<TestCase> {
  // One process for all cases, started for the first.
  await using started = new AsyncDisposableStack();
  let replays: RecordingReplays | undefined;
  const open = async (): Promise<RecordingReplays> => {
    const { openReplays } = await import("../standard/create-engine.ts");
    return (replays ??= started.use(await openReplays()));
  };
  const names = await readdir(folder ?? DEFAULT_FOLDER).catch(() => null);
  if (names === null && folder !== undefined) throw new CliError(EXIT.USAGE, `there is no folder ${folder}`);
  for (const name of (names ?? []).filter((one) => one.endsWith(".json")).toSorted()) {
    const file = path.join(folder ?? DEFAULT_FOLDER, name);
    const recording = await readRecordingFile(file);
    yield {
      tool: recording.tool.name,
      kind: "recording",
      name,
      ...(await replay(engine, file, recording, { isUpdating, open })),
    };
  }
}

type Replayed = Judgement & Pick<TestCase, "isUpdated">;

interface Replaying {
  readonly isUpdating: boolean;
  readonly open: () => Promise<RecordingReplays>;
}

async function replay(
  engine: Engine,
  file: string,
  recording: Recording,
  { isUpdating, open }: Replaying,
): Promise<Replayed> {
  const expected = shown(recording.outcome);
  const none = { ok: false, isUpdated: false, expected, received: "null" };
  const tool = engine.recordedTool(recording.tool.name);
  if (tool === undefined) return { ...none, message: "there is no tool of this name" };
  const { outcomeOf, requireReplayable } = await import("../kernel/engine/replay/recording.ts");
  const now: Recording = { ...recording, tool };
  try {
    requireReplayable(now);
  } catch (error) {
    return { ...none, message: error instanceof Error ? error.message : "it cannot be replayed" };
  }
  const { result } = await (await open()).replay(now);
  const outcome = outcomeOf(result);
  const received = shown(outcome);
  if (expected === received) return { ok: true, isUpdated: false, expected, received, message: null };
  const isDiverged = result.error?.message.startsWith(DIVERGED) === true;
  const message = isDiverged ? RECORD_AGAIN : null;
  if (isDiverged || !isUpdating) return { ok: false, isUpdated: false, expected, received, message };
  const updated: Recording = { ...now, outcome };
  await writeFile(file, JSON.stringify(updated), { mode: 0o600 });
  return { ok: true, isUpdated: true, expected, received, message };
}

const RECORD_AGAIN =
  "the tool makes other capability calls than it did; record the call again with: glovebox run --record FILE";

/** The compared parts of a test: the lines of a stack belong to one version of the code. */
function shown({ success, output, error, logs }: RecordedOutcome): string {
  const failure = error === null ? null : { code: error.code, type: error.type, message: error.message };
  return comparableJson({
    success,
    output,
    error: failure,
    logs: logs.map(({ level, message }) => ({ level, message })),
  });
}
