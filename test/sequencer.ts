import { BaseSequencer, type TestSpecification } from "vitest/node";
import { type Kind, KIND_NAMES, KINDS } from "./kinds.ts";

/**
 * Files that mostly wait run beside files that mostly work, evenly mixed; within both the dearer kinds come first, so
 * that no long file is left alone at the end. Those of a kind that share processes come together, and last.
 */
export class MixedSequencer extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specs);
    const byKind = KIND_NAMES.toReversed().map((kind) => sorted.filter((spec) => spec.project.name === kind));
    const ordered = byKind.flat();
    const shared = ordered.filter((spec) => kindOf(spec).isShared);
    const others = ordered.filter((spec) => !kindOf(spec).isShared);
    return [
      ...mix(
        others.filter((spec) => !kindOf(spec).waits),
        others.filter((spec) => kindOf(spec).waits),
      ),
      ...shared,
    ];
  }
}

function kindOf({ project }: TestSpecification): (typeof KINDS)[Kind] {
  return KINDS[project.name as Kind];
}

/** Both lists in their order, each spread over the whole. */
function mix<T>(one: readonly T[], other: readonly T[]): T[] {
  const place = (list: readonly T[]) => list.map((item, at) => ({ item, at: (at + 0.5) / list.length }));
  return [...place(one), ...place(other)].sort((a, b) => a.at - b.at).map(({ item }) => item);
}
