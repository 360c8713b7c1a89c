import ivm from "isolated-vm";
import { seedOf, textsOf } from "../../../src/kernel/base/protocol/prelude.ts";
import { PRELUDE_PARTS } from "../../../src/standard/plugins.ts";
import { loadPrelude } from "../../../src/kernel/tool/runtimes/prelude.ts";
import { NO_CHECKS, SCRIPT_EXPORTS, type ToolScript } from "../../../src/kernel/base/protocol/script.ts";
import { compileScript, compileTool, GuestRealm } from "../../../src/kernel/executor/worker/guest-realm.ts";
import { createPure } from "../../../src/kernel/executor/worker/pure.ts";

/** What the host answers an ask; nothing where it takes its time until the end of the test. */
export type HostAnswer = { readonly value: unknown } | { readonly code: string; readonly message: string } | undefined;

/** The host's side of a call: it hears what the call asks, and answers. */
export type FakeHost = (method: string, args: never, capability: string) => HostAnswer;

export interface RealmUnderTest extends Disposable {
  /**
   * Runs the tool once more in the same realm and gives its output; throws what it failed with. Where the tool waits,
   * its asks are answered one by one, and its timers fire once no call is pending.
   */
  call(input?: unknown, nowMs?: number): unknown;
  /** Starts calls as one batch, and enters the realm until all have started. */
  batch(...inputs: readonly unknown[]): void;
  readonly emitted: unknown[][];
}

const [DONE, LOG, ASK, TIMER] = [0, 1, 2, 3];
/** Only against what never ends: how long a turn takes depends on what else the machine does. */
const TURN_MS = 60_000;
const SILENT: FakeHost = () => undefined;

/** A realm in an isolate of its own, with a tool whose default export is `body`. */
export async function openRealm(
  body: string,
  { hardened = true, before = "", host = SILENT, shared = false, lacksFetch = false } = {},
): Promise<RealmUnderTest> {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  const emitted: unknown[][] = [];
  /** Lines that the realm gathered, as if it had emitted each. */
  const takeLines = () => realm.lines?.take((from, level, line) => emitted.push([LOG, from, level, line, "", 0]));
  const emit = (...said: unknown[]): number => {
    takeLines();
    return emitted.push(said);
  };
  const { core, parts } = await loadPrelude(PRELUDE_PARTS);
  const texts = textsOf(parts);
  const prelude = compileScript(isolate, "prelude", core);
  const callbacks = {
    emit: new ivm.Callback(emit),
    pure: new ivm.Callback(
      createPure(
        (run) => seedOf("a key for tests", run),
        (name) => texts[name] ?? "",
      ),
    ),
  };
  const realm = GuestRealm.open(isolate, { prelude, engine: null }, callbacks, hardened);
  const script: ToolScript = {
    key: "1",
    name: "tool",
    version: "1.0.0",
    runtime: "javascript",
    isolation: shared ? "shared" : "instance",
    memoryMb: 64,
    config: "null",
    checks: NO_CHECKS,
    contract: "glovebox",
    ...(lacksFetch ? { lacksFetch } : {}),
    text: `${before}\nvar ${SCRIPT_EXPORTS} = { default: ${body} };`,
  };
  realm.load(compileTool(isolate, script, { code: null }));
  let run = 0;
  let heard = 0;

  /** Answers what the call has said since, in order. A timer waits until nothing else is left. */
  function serve(nowMs: number): void {
    let dueMs: number | null = null;
    takeLines();
    for (; heard < emitted.length; heard++) {
      const [kind, from, a, b, c] = emitted[heard] as [number, number, never, string, string];
      if (kind === TIMER && from === run) dueMs = a;
      if (kind !== ASK) continue;
      const answer = host(b, JSON.parse(c) as never, a);
      if (answer === undefined) continue;
      const isValue = "value" in answer;
      const payload = JSON.stringify(isValue ? answer.value : answer);
      realm.settle(from, `${isValue ? heard + 1 : -heard - 1}`, payload, nowMs, TURN_MS);
    }
    if (dueMs === null) return;
    realm.fire(run, dueMs, TURN_MS);
    serve(dueMs);
  }

  return {
    emitted,
    call(input = null, nowMs = 1_000) {
      const answer = realm.start(JSON.stringify([[++run, "call", nowMs, 1e6, input]]), TURN_MS);
      serve(nowMs);
      const outcome = answer.slice(0, -1);
      const said = outcome === "" ? emitted.findLast(([kind, from]) => kind === DONE && from === run)?.[2] : outcome;
      if (typeof said !== "string") throw new Error("the call has not ended");
      if (said.startsWith("+")) return JSON.parse(said.slice(1)) as unknown;
      throw new Error(said);
    },
    batch(...inputs) {
      let answer = realm.start(JSON.stringify(inputs.map((input) => [++run, "call", 1_000, 1e6, input])), TURN_MS);
      while (answer.endsWith("\n")) answer = realm.startNext(TURN_MS);
    },
    [Symbol.dispose]: () => isolate.dispose(),
  };
}
