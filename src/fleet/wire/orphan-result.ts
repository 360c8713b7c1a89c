import { isObject } from "../../base/json.ts";
import type { CallReply } from "../../executor/executor.ts";

/**
 * How a call ended whose server was lost, as its machine leaves it for another server: that one has the tool, and makes a
 * result of it.
 */
export interface OrphanResult {
  readonly callId: string;
  /** The mark of its tool: of another one nobody knows how to read the reply. */
  readonly tool: string;
  readonly outputBytes: number;
  readonly reply: CallReply;
}

export function writeOrphan(left: OrphanResult): string {
  return JSON.stringify(left);
}

/** `null` where it is invalid. */
export function readOrphan(text: string): OrphanResult | null {
  try {
    const left: unknown = JSON.parse(text);
    if (!isObject(left) || !isObject(left["reply"]) || !isObject(left["reply"]["outcome"])) return null;
    return left as unknown as OrphanResult;
  } catch {
    return null;
  }
}
