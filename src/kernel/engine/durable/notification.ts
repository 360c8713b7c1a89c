import { createHmac } from "node:crypto";
import type { CallWait } from "../../store/calls/durable/durable-call.ts";
import type { CallNote } from "../../store/calls/durable/durable-step.ts";
import type { LinkedWait } from "./decision-links.ts";
import type { ResolvedTarget } from "./notify-options.ts";

/** Maximum size of a body, in UTF-16 units. A longer one loses its arguments, and then its messages. */
const BODY_MAX = 64 * 1024;
const TEXT_MAX = 1_000;
/** Parts that a long body leaves out, the least important first. */
const CUTS = ["nothing", "values", "texts"] as const;
type Cut = (typeof CUTS)[number];

/** A request that notifies a target of a call. */
export interface Notification {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes the request of a note. `linkOf`: the address at which a wait is decided; `null` for none. */
export function notificationOf(
  note: CallNote,
  target: ResolvedTarget,
  linkOf: (wait: LinkedWait) => string | null,
  nowMs: number,
): Notification {
  let body = "";
  for (const cut of target.values ? CUTS : CUTS.slice(1)) {
    body = bodyOf(note, cut, linkOf);
    if (body.length <= BODY_MAX) break;
  }
  const timestamp = `${Math.floor(nowMs / 1_000)}`;
  const signature = createHmac("sha256", target.key).update(`${note.id}.${timestamp}.${body}`).digest("base64");
  return {
    body,
    headers: {
      "content-type": "application/json",
      "user-agent": "glovebox",
      "webhook-id": note.id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    },
  };
}

function bodyOf(note: CallNote, cut: Cut, linkOf: (wait: LinkedWait) => string | null): string {
  const { event, madeMs, call } = note;
  const waits = call.waits.map((wait) => waitOf(wait, cut, linkOf));
  return JSON.stringify({
    type: `call.${event}`,
    timestamp: new Date(madeMs).toISOString(),
    data: { ...call, waits },
  });
}

function waitOf(wait: CallWait, cut: Cut, linkOf: (wait: LinkedWait) => string | null): object {
  const { step, kind, openedAt, expiresAt } = wait;
  const common = { step, kind, openedAt, expiresAt };
  const shown = (text: string): string => (cut === "texts" ? text.slice(0, TEXT_MAX) : text);
  switch (wait.kind) {
    case "approval": {
      const values = cut === "nothing" ? { arguments: wait.arguments } : {};
      const { tool, digest, message, from } = wait;
      return { ...common, tool, message: shown(message), digest, from, link: linkOf(wait), ...values };
    }
    case "outcome":
      return { ...common, asked: wait.asked, ...(cut === "nothing" ? { arguments: wait.arguments } : {}) };
    case "signal":
      return { ...common, name: wait.name };
    case "time":
      return { ...common, until: wait.until };
    case "call":
      return { ...common, id: wait.id };
  }
}
