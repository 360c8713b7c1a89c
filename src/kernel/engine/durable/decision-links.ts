import { createHmac, timingSafeEqual } from "node:crypto";
import type { CallWait, DurableCall } from "../../store/calls/durable/durable-call.ts";
import type { ResolvedTarget } from "./notify-options.ts";

/** A wait that a link decides. */
export type LinkedWait = CallWait & { readonly kind: "approval" };

/** Maximum time for which a link is valid. */
const LINK_MS = 7 * 24 * 60 * 60 * 1_000;
const PATH = "/v1/decisions/";
const TOKEN = /^([0-9a-f]{16})~(c_[\w.-]{1,126})~(\d{1,9})~([0-9a-z]{1,9})~([\w-]{43})$/;

/** Content of a token that has not been checked. */
export interface ReadToken {
  readonly target: ResolvedTarget;
  readonly id: string;
  readonly step: number;
  readonly expiresMs: number;
  /** Whether the token is one for the content that the wait shows. */
  readonly isFor: (wait: LinkedWait) => boolean;
}

/**
 * The reason for which a wait cannot be decided by a link, in words; `null` if it can. A link does not identify its
 * user, and sends no data.
 */
export function linkObstacle({ by, schema }: LinkedWait): string | null {
  if (by.length > 0) return "a rule names the keys that decide this: a link cannot";
  return schema === null ? null : "this approval needs data, which a link cannot send";
}

/** The address at which a wait is decided; `null` if none is given. */
export function linkOf(
  target: ResolvedTarget,
  { id, expiresAt }: Pick<DurableCall, "id"> & { readonly expiresAt: string | null },
  wait: LinkedWait,
  madeMs: number,
): string | null {
  if (target.links === null || wait.state !== "open" || linkObstacle(wait) !== null) return null;
  const ends = [expiresAt, wait.expiresAt].flatMap((at) => (at === null ? [] : [Date.parse(at)]));
  const expires = Math.floor(Math.min(madeMs + LINK_MS, ...ends) / 1_000).toString(36);
  const mac = macOf(target, id, wait.step, expires, wait.digest);
  return `${target.links}${PATH}${[target.id, id, wait.step, expires, mac].join("~")}`;
}

/** Reads a token; `null` if no target has made such tokens. */
export function readToken(token: string, targets: readonly ResolvedTarget[]): ReadToken | null {
  const [, targetId, id = "", step = "", expires = "", mac = ""] = TOKEN.exec(token) ?? [];
  const target = targets.find((one) => one.id === targetId && one.links !== null);
  if (target === undefined) return null;
  return {
    target,
    id,
    step: Number(step),
    expiresMs: Number.parseInt(expires, 36) * 1_000,
    isFor: (wait) => timingSafeEqual(Buffer.from(macOf(target, id, wait.step, expires, wait.digest)), Buffer.from(mac)),
  };
}

/** Any owner of a target's secret can make links, too. */
function macOf({ key }: ResolvedTarget, id: string, step: number, expires: string, digest: string): string {
  const own = createHmac("sha256", key).update("glovebox decision link").digest();
  return createHmac("sha256", own).update([id, step, expires, digest].join("\n")).digest("base64url");
}
