import { parseForWriting } from "../kernel/base/exact-json.ts";
import { CliError, EXIT } from "./exit.ts";

/**
 * A value of JSON that a person has written, with the digits of its long integers. `what` names the text in the error,
 * `remedy` says how to write it. Throws a `CliError` that says where the text is wrong.
 */
export function parseJsonText(text: string, what: string, remedy?: string): unknown {
  // Editors and shells of Windows begin a file with a byte-order mark.
  const json = text.replace(/^\ufeff/, "");
  try {
    return parseForWriting(json);
  } catch (error) {
    const hint = remedy === undefined ? "" : `; ${remedy}`;
    throw new CliError(EXIT.INVALID, `${what} is not JSON: ${reasonOf(json, error)}${hint}`);
  }
}

/** The reason by the text itself: long integers stand elsewhere in what was parsed. */
function reasonOf(json: string, error: unknown): string {
  if (json.trim() === "") return "it is empty";
  try {
    JSON.parse(json);
  } catch (found) {
    return found instanceof Error ? found.message : String(found);
  }
  return error instanceof Error ? error.message : String(error);
}
