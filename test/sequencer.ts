import { BaseSequencer, type TestSpecification } from "vitest/node";
import { KIND_NAMES } from "./kinds.ts";

/**
 * The dearer kinds come first, so that no long file is left alone at the end. Files of a kind come together: a process is
 * used again only for the next file of its kind.
 */
export class KindSequencer extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specs);
    return KIND_NAMES.toReversed().flatMap((kind) => sorted.filter((spec) => spec.project.name === kind));
  }
}
