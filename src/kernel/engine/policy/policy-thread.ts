import { Worker } from "node:worker_threads";

/** A place in the text of a policy, from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** The policy in a text. */
export type PolicyText =
  | {
      readonly kind: "policy";
      /** The policy, also if the text is a configuration with one. */
      readonly policy: unknown;
      /** Places of its parts, by the names to them as JSON: the first 5,000. */
      readonly places: ReadonlyMap<string, TextPlace>;
    }
  | {
      readonly kind: "mistakes";
      readonly mistakes: readonly { readonly message: string; readonly place: TextPlace | null }[];
    };

/** Maximum time and memory to read a policy of 64 Ki characters. */
const READ_MS = 5_000;
const HEAP_MB = 256;
const TOO_MUCH = "it takes more than 5 seconds, or 256 MiB, to read";

/** Reads the text of a policy on a thread of its own: hostile YAML of 64 Ki characters takes a second. */
export async function readInThread(text: string): Promise<PolicyText> {
  const worker = new Worker(new URL(`./entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url), {
    name: "glovebox-policy",
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    env: {},
  });
  const failed: PolicyText = { kind: "mistakes", mistakes: [{ message: TOO_MUCH, place: null }] };
  const { promise, resolve } = Promise.withResolvers<PolicyText>();
  const late = setTimeout(resolve, READ_MS, failed);
  worker.once("message", resolve);
  worker.once("error", () => resolve(failed));
  worker.once("exit", () => resolve(failed));
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    await worker.terminate();
  }
}
