import { setTimeout as sleep } from "node:timers/promises";
import { type HostWorkQueue, HostWorkFull, type WorkPayer } from "../../base/host-work-queue.ts";
import { JsonScanner, type JsonVerdict } from "../../base/json-scanner.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";

/** Length of an output up to which it is parsed before its call ends, in UTF-16 units. */
const PARSED_AT_ONCE = 256 * 1024;
/** Length of a piece of work: less than a millisecond of it. */
const PIECE = 64 * 1024;
const RETRY_MS = 10;

/**
 * Whether an output stays text until it is read: it is long, and nothing but its caller needs its value. A tool's
 * contract or a cut of its characters may have to read it.
 */
export function staysText(json: string, { readResult, outputChars }: RegisteredTool): boolean {
  return json.length > PARSED_AT_ONCE && readResult === null && outputChars === null;
}

/**
 * Proves in pieces, each in its tenant's turn, that an output is JSON: an executor that a tool has taken over could
 * send a text that breaks out of the answer into which a surface copies it.
 */
export async function checkInPieces(
  json: string | readonly string[],
  work: Pick<HostWorkQueue, "run">,
  payer: WorkPayer,
): Promise<JsonVerdict> {
  const scanner = new JsonScanner(json);
  for (;;) {
    try {
      const verdict = await work.run(payer, () => scanner.scan(PIECE));
      if (verdict !== null) return verdict;
    } catch (error) {
      if (!(error instanceof HostWorkFull)) throw error;
      await sleep(RETRY_MS);
    }
  }
}
