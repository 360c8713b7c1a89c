import { PackageError } from "../../src/kernel/tool/package/step.ts";

/** What a `PackageError` says: it has to be one that is thrown, at once or later. */
export async function problemOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof PackageError) return error.message;
    throw error;
  }
  throw new Error("it was not refused");
}
