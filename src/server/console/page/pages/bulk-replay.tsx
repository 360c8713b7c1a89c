import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { messageOf, pathTo, postJson } from "../api.ts";
import { announce, Badge, Quiet, Table } from "../elements.tsx";
import { formatTime, plural } from "../format.ts";
import { addressOf } from "../router.ts";
import type { CallSummary, Replay } from "../wire.ts";

/** Calls that are replayed one after the other: a server replays two at once. */
const CALLS_MAX = 50;

interface Outcome {
  readonly call: CallSummary;
  /** Result of the replay, or the reason why none exists. */
  readonly words: string;
  readonly isSame: boolean;
}

/** Replays the newest calls of a list, and shows those with different replays. */
export function BulkReplay({ calls }: { calls: readonly (CallSummary | null)[] }) {
  const outcomes = useSignal<readonly Outcome[]>([]);
  const under = useRef<AbortController | null>(null);
  const isRunning = useSignal(false);
  const stop = (): void => under.current?.abort();
  useEffect(() => stop, []);
  const replayAll = async (chosen: readonly CallSummary[]): Promise<void> => {
    const current = new AbortController();
    under.current = current;
    isRunning.value = true;
    outcomes.value = [];
    for (const call of chosen) {
      const outcome = await replayOf(call, current.signal);
      if (current.signal.aborted) break;
      outcomes.value = [...outcomes.value, outcome];
    }
    isRunning.value = false;
    announce(wordsOf(outcomes.value));
  };
  const chosen = calls.slice(0, CALLS_MAX).filter((call) => call !== null);
  const others = outcomes.value.filter(({ isSame }) => !isSame);
  if (chosen.length === 0) return null;
  return (
    <>
      <div class="row">
        {isRunning.value ? (
          <Quiet onClick={stop}>Stop</Quiet>
        ) : (
          <Quiet onClick={() => void replayAll(chosen)}>Replay the newest {plural(chosen.length, "call")}</Quiet>
        )}
        {outcomes.value.length > 0 && <span class="muted">{wordsOf(outcomes.value)}</span>}
      </div>
      {others.length > 0 && (
        <Table
          label="Replays that are not the same"
          heads={["Call", "Tool", "Replay"]}
          items={others}
          row={({ call, words }) => [
            <a href={addressOf("calls", call.id)}>{formatTime(call.beginMs)}</a>,
            <span class="mono">{call.tool}</span>,
            <Badge text={words} tone="warn" />,
          ]}
        />
      )}
    </>
  );
}

async function replayOf(call: CallSummary, signal: AbortSignal): Promise<Outcome> {
  try {
    const { verdict } = await postJson<Replay>(pathTo`/v1/calls/${call.id}/replay`, {}, signal);
    return { call, words: verdict, isSame: verdict === "same" };
  } catch (error) {
    return { call, words: messageOf(error), isSame: false };
  }
}

function wordsOf(outcomes: readonly Outcome[]): string {
  const same = outcomes.filter(({ isSame }) => isSame).length;
  return `${same} of ${plural(outcomes.length, "replay")} the same`;
}
