import { useSignal } from "@preact/signals";
import { messageOf, pathTo, postJson } from "../api.ts";
import { caller, countWaiting } from "../caller.ts";
import type { DurableCall } from "../durable-call.ts";
import { announce, Card, Notice } from "../elements.tsx";
import { readJson } from "../exact-json.ts";
import type { Json } from "../wire.ts";
import { Asked } from "./asked.tsx";
import type { FollowedCall } from "./followed-call.ts";

interface ActionProps {
  readonly call: DurableCall;
  readonly followed: FollowedCall;
}

/** Sends a signal to a call, or ends it, each after a confirmation. Empty if the page's key may do neither. */
export function WaitActions({ call, followed }: ActionProps) {
  const problem = useSignal("");
  if (caller.value?.roles.includes("execute") === false || call.state === "ended") return null;
  const post = async (path: string, body: Json, done: string): Promise<void> => {
    problem.value = "";
    try {
      await postJson(path, body);
      await followed.look(true);
      announce(done);
      void countWaiting();
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  return (
    <Card heading="Signal or cancel">
      <Signal call={call} post={post} />
      <Asked
        name="Cancel the call"
        question="The call ends with the error cancelled."
        act={() => void post(pathTo`/v1/calls/${call.id}/cancel`, {}, "The call was cancelled")}
      />
      <div role="status">{problem.value !== "" && <Notice tone="bad">{problem.value}</Notice>}</div>
    </Card>
  );
}

interface SignalProps {
  readonly call: DurableCall;
  readonly post: (path: string, body: Json, done: string) => Promise<void>;
}

function Signal({ call, post }: SignalProps) {
  const wait = call.waits.find(({ kind, state }) => kind === "signal" && state === "open");
  const name = useSignal(wait?.kind === "signal" ? wait.name : "");
  const payload = useSignal("");
  const read = (): Json | undefined => {
    try {
      return payload.value.trim() === "" ? null : readJson(payload.value);
    } catch {
      return undefined;
    }
  };
  const isWrong = read() === undefined;
  const send = (): void => {
    const body = read();
    if (body !== undefined) void post(pathTo`/v1/calls/${call.id}/signals/${name.value}`, body, "The signal was sent");
  };
  return (
    <>
      <div class="field">
        <label for="signal-name" class="name">
          Name of the signal
        </label>
        <input
          id="signal-name"
          autocomplete="off"
          spellcheck={false}
          maxLength={128}
          value={name}
          onInput={(event) => (name.value = event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for="signal-payload" class="name">
          Payload as JSON
        </label>
        <textarea
          id="signal-payload"
          class="code"
          rows={2}
          spellcheck={false}
          autocomplete="off"
          aria-describedby="signal-error"
          aria-invalid={isWrong ? true : undefined}
          value={payload}
          onInput={(event) => (payload.value = event.currentTarget.value)}
        />
        <p class="error" id="signal-error" role="status">
          {isWrong ? "This is not JSON." : ""}
        </p>
      </div>
      <Asked
        name="Send the signal"
        question="A call that waits for it goes on."
        isOff={isWrong || name.value.trim() === ""}
        act={send}
      />
    </>
  );
}
