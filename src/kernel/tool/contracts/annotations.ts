import type { ToolAnnotations } from "./contract.ts";
import type { Reader } from "./reader.ts";

const PROMISES = ["readOnly", "destructive", "idempotent", "openWorld"] as const;

/** Reads a tool's annotations in contracts that use Glovebox's own names for them. */
export function readAnnotations(read: Reader, value: unknown, pointer: string): ToolAnnotations {
  const { title, ...said } = read.object(value, pointer);
  const promises = PROMISES.flatMap((name) => {
    const promise: unknown = said[name];
    if (promise === undefined) return [];
    return typeof promise === "boolean" ? [[name, promise]] : read.fail(`${pointer}/${name}`, "must be true or false");
  });
  return {
    ...(title === undefined ? {} : { title: read.string(title, `${pointer}/title`) }),
    ...Object.fromEntries(promises),
  };
}
