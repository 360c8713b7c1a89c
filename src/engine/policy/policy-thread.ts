import { Worker } from "node:worker_threads";
import type { PolicyText } from "./policy-text.ts";

/** Time and memory in which a policy of 64 Ki characters is read. */
const READ_MS = 5_000;
const HEAP_MB = 256;
const TOO_MUCH = "it takes more than 5 seconds, or 256 MiB, to read";

/** Reads the text of a policy on a thread of its own: to read hostile YAML of 64 Ki characters takes a second. */
export async function readInThread(text: string): Promise<PolicyText> {
  const worker = new Worker(new URL(`./entry.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url), {
    name: "glovebox-policy",
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    env: {},
  });
  const failed: PolicyText = { kind: "mistakes", mistakes: [{ message: TOO_MUCH, place: null }] };
  let late: NodeJS.Timeout | undefined;
  try {
    return await new Promise<PolicyText>((resolve) => {
      late = setTimeout(() => resolve(failed), READ_MS);
      worker.once("message", resolve);
      worker.once("error", () => resolve(failed));
      worker.once("exit", () => resolve(failed));
    });
  } finally {
    clearTimeout(late);
    await worker.terminate();
  }
}
