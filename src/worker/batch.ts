import type { RunMessage } from "../protocol/messages.ts";
import type { ToolScript } from "../protocol/script.ts";

/** Half of what usually comes at once, so that the host settles one half while the worker runs the other. */
const CALLS_MAX = 32;
/** Arguments of all calls of a batch together, in characters. */
const LENGTH_MAX = 64 * 1024;

/** Calls of one tool and tenant that enter their isolate together. */
export class Batch {
  readonly script: ToolScript;
  readonly messages: RunMessage[] = [];
  readonly #tenant: string;
  #length = 0;

  constructor(script: ToolScript, tenant: string) {
    this.script = script;
    this.#tenant = tenant;
  }

  /** Whether a call may go along. */
  takes({ key, tenant, args }: RunMessage): boolean {
    if (key !== this.script.key || tenant !== this.#tenant) return false;
    return this.messages.length < CALLS_MAX && this.#length + args.length <= LENGTH_MAX;
  }

  add(message: RunMessage): void {
    this.messages.push(message);
    this.#length += message.args.length;
  }
}

/** The calls as the guest's `startMany` takes them: `[run, id, nowMs, outputMax, arguments][]`. */
export function writeBatch(messages: readonly RunMessage[]): string {
  const calls = messages.map(({ run, callId, nowMs, outputBytes, args }) => {
    return `[${run},${JSON.stringify(callId)},${nowMs},${outputBytes},${args}]`;
  });
  return `[${calls.join(",")}]`;
}

/** What `startMany` answers: the outcomes of the calls that it started, in order; empty where a call goes on. */
export function readOutcomes(text: string): string[] {
  return text === "" ? [] : text.slice(0, -1).split("\n");
}

/** Calls whose time must be known before a tool's calls may go together. */
const KNOWN_CALLS = 8;
/** Calls that take longer go alone, in milliseconds: nobody shall wait behind them. */
const QUICK_MS = 0.2;
const WEIGHT = 0.1;
const TOOLS_MAX = 1_024;

/** How long the calls of tools take, as an average that forgets. Unknown and slow tools go alone. */
export class ServiceTimes {
  readonly #tools = new Map<string, { calls: number; averageMs: number; awaits: boolean }>();

  /** Whether calls of this script are known to be short, and to end without awaiting anything. */
  isQuick(key: string): boolean {
    const known = this.#tools.get(key);
    return known !== undefined && !known.awaits && known.calls >= KNOWN_CALLS && known.averageMs < QUICK_MS;
  }

  note(key: string, cpuMs: number, awaits: boolean): void {
    const known = this.#tools.get(key);
    if (known === undefined) {
      if (this.#tools.size >= TOOLS_MAX) this.#tools.clear();
      // The first call also warms its isolate up, so it tells nothing of the others.
      this.#tools.set(key, { calls: 1, averageMs: 0, awaits });
      return;
    }
    known.calls++;
    known.averageMs += (cpuMs - known.averageMs) * WEIGHT;
    known.awaits ||= awaits;
  }

  /** Forgets what it took a tool to be: one of its calls was not like the others. */
  forget(key: string): void {
    this.#tools.delete(key);
  }
}
