import { GloveboxError } from "../base/errors.ts";
import { filesOfFailure, withFiles } from "./bundle/error.ts";

const SHOWN = 10;
/** The failures that an error combines. */
const failuresOf = new WeakMap<GloveboxError, readonly GloveboxError[]>();

/**
 * The reason why the preparations of several tools failed: the only failure unchanged, or one error that names them
 * all; `undefined` if none failed.
 */
export function failureOf(settled: readonly PromiseSettledResult<unknown>[]): Error | undefined {
  const reasons = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as Error] : []));
  const [first] = reasons;
  const failures = reasons.flatMap((one) => (one instanceof GloveboxError ? (failuresOf.get(one) ?? [one]) : []));
  if (!(first instanceof GloveboxError) || failures.length < 2) return first;
  const lines = failures.slice(0, SHOWN).map(({ message }) => message);
  if (failures.length > SHOWN) lines.push(`and ${failures.length - SHOWN} more`);
  const error = new GloveboxError(
    first.code,
    `${failures.length} tools could not be loaded, so none of them is registered:\n${lines.join("\n")}`,
    first.details,
    failures.flatMap(({ remedies }) => remedies),
  );
  failuresOf.set(error, failures);
  return withFiles(error, failures.flatMap(filesOfFailure));
}
