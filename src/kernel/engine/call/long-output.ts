import type { HostWorkQueue, WorkPayer } from "../../base/host-work-queue.ts";
import { JsonScanner, type JsonVerdict } from "../../base/json-scanner.ts";
import type { Pieces } from "../../base/reading/chunked-text.ts";
import { runPieces } from "../../base/reading/run-pieces.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";

/** Length of an output up to which it is parsed before its call ends, in UTF-16 units. */
const PARSED_AT_ONCE = 256 * 1024;
/** Length of a piece of work: less than a millisecond of it. */
const PIECE = 64 * 1024;

/**
 * Whether an output stays text until it is read: it is long, and only its caller needs its value. Otherwise a tool's
 * contract, or a cut of its characters, may have to read it.
 */
export function staysText(json: string, { readResult, outputChars }: RegisteredTool): boolean {
  return json.length > PARSED_AT_ONCE && readResult === null && outputChars === null;
}

/**
 * Proves in pieces, each in its tenant's turn, that an output is JSON: an executor that a tool has taken over could
 * send a text that breaks out of the answer into which a surface copies it.
 */
export function checkInPieces(
  json: string | readonly string[],
  work: Pick<HostWorkQueue, "run">,
  payer: WorkPayer,
): Promise<JsonVerdict> {
  return runPieces(scanned(new JsonScanner(json)), { work, payer });
}

function* scanned(scanner: JsonScanner): Pieces<JsonVerdict> {
  for (;;) {
    const verdict = scanner.scan(PIECE);
    if (verdict !== null) return verdict;
    yield;
  }
}
