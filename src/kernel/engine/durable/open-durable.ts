import { readResult, type ToolResult, withMetadata } from "../../base/result.ts";
import type { DurableStep, EndedCall, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import type { RestoreProgram, StoredProgram } from "../../tool/program/program.ts";
import type { Programs } from "../../tool/program/programs.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { EngineCall } from "../call/engine-call.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import { recordedTool, type ReplayPlugins } from "../replay/recorded-tool.ts";
import { withTools } from "../snippets/snippet-tool.ts";
import { Durable, type DurableParts } from "./durable.ts";
import { type DurableRecord, type DurableRuns, type PinnedTool, toldOf } from "./durable-record.ts";
import { Notifier } from "./notifier.ts";
import type { ResolvedTarget } from "./notify-options.ts";
import type { LoadedDurable } from "./durable-stage.ts";
import { newHolder, Resumer, type ResumerParts, type Resumption } from "./resumer.ts";
import { StoredDurableCalls } from "./stored-durable-calls.ts";
import { undoing } from "./undo.ts";

// One chunk of the published package: both are loaded if calls may wait.
export { StoredSnippets } from "../snippets/stored-snippets.ts";

interface OpenParts extends Omit<DurableParts, "holder"> {
  readonly plugins: ReplayPlugins;
  /** Continues a call; `attach` connects the run with its waits. */
  readonly resume: (resumption: Resumption, attach: (call: EngineCall) => void) => Promise<ToolResult>;
  /** Keeps and reports the end of a call that ran nothing. */
  readonly unrun: (result: ToolResult, options: ExecuteOptions, parentId: string | null) => void;
  /** Prepares programs that continue; `null` without a `ProgramHost`. */
  readonly restore: () => RestoreProgram | null;
  readonly programs: Pick<Programs, "toolFor">;
  readonly readmit: ResumerParts["readmit"];
  readonly takesAll: boolean;
  /** Whether the embedder redacts kept values of calls. */
  readonly isRedacted: boolean;
  /** Targets of notifications. */
  readonly notified: readonly ResolvedTarget[];
  /** Closes the store, unless it has another owner. */
  readonly close: () => Promise<void>;
}

/** Creates and connects the parts for waiting calls. */
export function openDurable({
  plugins,
  resume,
  unrun,
  restore,
  programs,
  takesAll,
  notified,
  close,
  ...engine
}: OpenParts): LoadedDurable {
  // Created first, so that notes are written of the first call that pauses.
  const notifier = notified.length === 0 ? null : new Notifier({ ...engine, targets: notified });
  notifier?.look();
  const onEnd = (ended: EndedCall): void => {
    const { options, parentCallId } = toldOf(ended);
    const result = readResult(ended.result);
    unrun(withMetadata(result, { ...result.metadata, durableId: ended.id }), options, parentCallId);
  };
  const telling = takeAndTell(engine.take, notifier, onEnd);
  const { capabilities } = engine.broker;
  const parts = { ...engine, capabilities, take: telling, holder: newHolder() };
  const { take, registry, events, holder } = parts;
  const durable = new Durable(parts);
  let lastPin = 0;
  const pin = (pinned: PinnedTool, { limits, tool }: DurableRecord, current: RegisteredTool): RegisteredTool => {
    const made = recordedTool(
      { tool: { ...pinned, config: current.script.config }, limits },
      plugins,
      `pinned ${++lastPin}`,
    );
    const { capabilities } = tool;
    const { tags, annotations, description } = current.info;
    // Its script is dropped with its last call.
    const usage = { calls: 0, retired: true };
    const info = { ...made.info, tags, annotations, description, capabilities };
    const pinnedTool = { ...made, info, capabilities, usage };
    return tool.snippet === undefined ? pinnedTool : withTools(pinnedTool, tool.snippet);
  };
  const program = async (
    { args, options: { tenant } }: DurableRecord,
    { program: kept }: DurableRuns,
  ): Promise<RegisteredTool> => {
    const make = restore();
    if (make === null || kept === null) throw new TypeError("nobody runs programs here");
    const { code, input, resultChars } = JSON.parse(args) as Pick<StoredProgram, "code" | "input" | "resultChars">;
    const restored = await make({ code, input, resultChars, ...kept, ...(tenant !== undefined && { tenant }) });
    return programs.toolFor(restored.program, { finish: restored.finish, state: restored.state });
  };
  const run = (resumption: Resumption): Promise<ToolResult> =>
    resume(resumption, (call) => void durable.waitsOf(call, resumption.stored));
  const undo: ResumerParts["undo"] = (undone, call, made) => undoing(undone, call, made, { ...parts, programs });
  const { resumeAtOnce: atOnce } = engine.waiting;
  const makes = { pin, program, undo, readmit: engine.readmit };
  const resumer = new Resumer({ take, holder, registry, events, takesAll, atOnce, ...makes, run, onEnd });
  const calls = new StoredDurableCalls({
    ...parts,
    checks: durable.checks,
    onSettled: () => resumer.look(),
    onMade: (id) => resumer.own(id),
    notified,
  });
  durable.onStart = (by) => resumer.started(by);
  durable.onPause = (id) => resumer.own(id);
  durable.onChange = (id) => {
    calls.tell(id);
    resumer.look();
  };
  return {
    durable,
    calls,
    resumer,
    take,
    close: async () => {
      await resumer.close();
      await notifier?.close();
      await close();
    },
  };
}

/** Steps that may change the state of a call. */
const CHANGES: ReadonlySet<DurableStep["kind"]> = new Set(["pause", "end", "cancel", "abandon"]);

/** Looks for notes after a step that may have written some, and reports the calls that it has ended. */
function takeAndTell(take: TakeDurable, notifier: Notifier | null, onEnd: (ended: EndedCall) => void): TakeDurable {
  return async (step) => {
    const answer = await take(step);
    for (const ended of answer.ended ?? []) onEnd(ended);
    if (notifier === null) return answer;
    if (CHANGES.has(step.kind) || (answer.kind === "ready" && answer.lost.length > 0)) notifier.look();
    return answer;
  };
}
