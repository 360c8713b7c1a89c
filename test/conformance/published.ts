import { fileURLToPath } from "node:url";
import { expect } from "vitest";

/** `-`: there is nothing of the kind to try, such as an example that the authors give. */
export type Answer = "yes" | "no" | "-";

/** A module or an example that the authors of a contract publish, unchanged. */
export interface Published {
  /** Its name or its path, as the authors give it. */
  readonly name: string;
  /** Whether it is read, and registered if it is a tool. */
  readonly loads: Answer;
  /** Whether `validate` accepts it, without errors. */
  readonly validates: Answer;
  /** Whether the example in its own documentation runs, with the outcome that it describes. */
  readonly runs: Answer;
  /** `refused`: on purpose, or for want of what only its operator has, such as an SDK. `open`: a gap of ours. */
  readonly verdict: "works" | "refused" | "open";
  /** Where the verdict is another than `works`: why, as the error says it, without what differs between runs. */
  readonly why?: string;
}

/** What one upstream publishes, in the order of `docs/reference/ecosystems.md`: that of the files' names. */
export interface Upstream {
  /** The upstream with the part of it that is tried: "Strands tools, modules of strands_tools". */
  readonly title: string;
  readonly source: string;
  /** Its version or commit. */
  readonly version: string;
  /** What the operator gives them, in one sentence: wheels, grants, a scripted model. */
  readonly given: string;
  readonly published: readonly Published[];
}

/** Compares what was tried with the record in the repository. `--update` writes it. */
export async function expectPublished(name: string, upstream: Upstream): Promise<void> {
  for (const { name: one, verdict, why } of upstream.published) {
    expect(why === undefined, `${one} has a reason exactly where it does not work`).toBe(verdict === "works");
  }
  const file = fileURLToPath(new URL(`published/${name}.json`, import.meta.url));
  await expect(`${JSON.stringify(upstream, null, 2)}\n`).toMatchFileSnapshot(file);
}
