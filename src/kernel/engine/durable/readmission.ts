import { narrowerOf } from "../../base/name-patterns.ts";
import type { ClaimedCall } from "../../store/calls/durable/durable-call.ts";
import type { ExecuteOptions } from "../execute-options.ts";
import type { DurableRecord } from "./durable-record.ts";

/** The key whose call continues after a wait. */
export interface KeptCaller {
  readonly key: string;
  readonly tenant: string;
  /** The tool that the key itself has called; `null` if a tool has called another. */
  readonly tool: string | null;
}

/** The present permissions of a key, or the reason for which its call must not continue. */
export type Readmitted =
  | { readonly kind: "admitted"; readonly options: Pick<ExecuteOptions, "tools" | "onCpu"> }
  | { readonly kind: "refused"; readonly code: "unauthorized" | "forbidden"; readonly message: string };

/** Checks whether a key may still call; `null` if no keys are required. */
export type Readmit = (caller: KeptCaller) => Readmitted | null;

/** Time after an engine's start for which calls of keys wait for the server with the keys. */
const SERVER_WAIT_MS = 10_000;
const UNASKED: Readmitted = { kind: "admitted", options: {} };

/** The servers with keys before an engine: a call continues only while one of them still knows its key. */
export class Readmissions {
  readonly #asked = new Set<Readmit>();
  readonly #startMs = performance.now();

  add(readmit: Readmit): Disposable {
    this.#asked.add(readmit);
    return { [Symbol.dispose]: () => void this.#asked.delete(readmit) };
  }

  /** `later`: the server has not started yet. */
  readonly of = ({ key, tenant, tool, parent }: ClaimedCall, record: DurableRecord): Readmitted | "later" => {
    const { origin, tools } = record.options;
    // Callers authenticated by an application, and holders of tokens, are known only during their requests.
    if (key === null || origin?.isKeyChecked !== true) return UNASKED;
    const isOwn = parent === null || tools !== undefined || record.isOfProgram === true;
    const caller = { key, tenant, tool: isOwn ? tool : null };
    let refused: Readmitted | null = null;
    for (const readmit of this.#asked) {
      const answer = readmit(caller);
      if (answer?.kind === "admitted") return isOwn ? answer : { ...answer, options: chargedOnly(answer.options) };
      refused ??= answer;
    }
    if (refused !== null) return refused;
    const isEarly = this.#asked.size === 0 && performance.now() - this.#startMs < SERVER_WAIT_MS;
    return isEarly ? "later" : UNASKED;
  };
}

/** A tool that another one has called is not among those that the key names. */
function chargedOnly({ onCpu }: Pick<ExecuteOptions, "onCpu">): Pick<ExecuteOptions, "onCpu"> {
  return onCpu === undefined ? {} : { onCpu };
}

/** Options of a call as it was made, within the present permissions of its caller. */
export function narrowedBy(
  made: ExecuteOptions,
  { tools, onCpu }: Pick<ExecuteOptions, "tools" | "onCpu">,
): ExecuteOptions {
  const both = tools === undefined ? made.tools : made.tools === undefined ? tools : commonOf(made.tools, tools);
  return {
    ...made,
    ...(both === undefined ? {} : { tools: both }),
    ...(onCpu === undefined ? {} : { onCpu }),
  };
}

function commonOf(some: readonly string[], others: readonly string[]): readonly string[] {
  // Usually the key is unchanged.
  if (some.length === others.length && some.every((pattern, at) => pattern === others[at])) return some;
  return some.flatMap((one) => others.flatMap((other) => narrowerOf(one, other) ?? []));
}
