import ivm from "isolated-vm";
import { bundlePrelude } from "../../../src/executor/prelude.ts";
import { SCRIPT_EXPORTS, type ToolScript } from "../../../src/protocol/script.ts";
import { compilePrelude, compileTool, GuestRealm } from "../../../src/worker/guest-realm.ts";
import { createPure } from "../../../src/worker/pure.ts";

export interface RealmUnderTest extends Disposable {
  /** Runs the tool once more in the same realm and gives its output; throws what it failed with. */
  call(input?: unknown, nowMs?: number): unknown;
  readonly emitted: unknown[][];
}

/** A realm in an isolate of its own, with a tool whose default export is `body`. */
export async function openRealm(body: string, { hardened = true, before = "" } = {}): Promise<RealmUnderTest> {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  const emitted: unknown[][] = [];
  const emit = (...said: unknown[]): number => emitted.push(said);
  const { core, parts } = await bundlePrelude();
  const prelude = compilePrelude(isolate, core);
  const host = { emit: new ivm.Callback(emit), pure: new ivm.Callback(createPure("a key for tests", parts)) };
  const realm = GuestRealm.open(isolate, prelude, host, hardened);
  const script: ToolScript = {
    key: "1",
    name: "tool",
    version: "1.0.0",
    isolation: "instance",
    memoryMb: 64,
    config: "null",
    text: `${before}\nvar ${SCRIPT_EXPORTS} = { default: ${body} };`,
  };
  realm.load(compileTool(isolate, script));
  let run = 0;
  return {
    emitted,
    call(input = null, nowMs = 1_000) {
      const answer = realm.start(JSON.stringify([[++run, "call", nowMs, 1e6, input]]), 5_000);
      const outcome = answer.slice(0, -1);
      const said = outcome === "" ? (emitted.findLast(([kind]) => kind === 0)?.[2] as string) : outcome;
      if (said.startsWith("+")) return JSON.parse(said.slice(1)) as unknown;
      throw new Error(said);
    },
    [Symbol.dispose]: () => isolate.dispose(),
  };
}
