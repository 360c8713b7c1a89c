import { isObject } from "../base/json.ts";
import type { CallReply } from "./executor.ts";

/** The result of a call with a lost server, as its machine stores it for another server that has the tool. */
export interface OrphanResult {
  readonly callId: string;
  /** The fingerprint of its tool: a server with another tool cannot interpret the reply. */
  readonly tool: string;
  readonly outputBytes: number;
  readonly reply: CallReply;
}

export function writeOrphan(left: OrphanResult): string {
  return JSON.stringify(left);
}

/** `null` if it is invalid. */
export function readOrphan(text: string): OrphanResult | null {
  try {
    const left: unknown = JSON.parse(text);
    if (!isObject(left) || !isObject(left["reply"]) || !isObject(left["reply"]["outcome"])) return null;
    return left as unknown as OrphanResult;
  } catch {
    return null;
  }
}
