import { createHash } from "node:crypto";
import { escapeHtml } from "../../contrib/agentspace/form.ts";
import { writeAny } from "../../kernel/base/json-writer.ts";
import { seen } from "../../kernel/base/json.ts";
import type { LinkedCall } from "../../kernel/engine/durable/durable-calls.ts";

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:1rem}form{display:inline-block;margin-right:1rem}button{font:inherit;padding:.5rem 1.5rem}";
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
/** Values up to this length are shown; longer ones are not approved here. */
const SHOWN_MAX = 64 * 1024;

/** A page loads nothing, runs nothing, and sends forms to its own server only. Its address goes to no other site. */
export const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  // Without a referrer, browsers send a form with the origin "null".
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
} as const;

/** The page that shows the decision of a link, with a form for each choice. */
export function decisionPage({ call, wait }: Extract<LinkedCall, { readonly kind: "open" }>): string {
  const values = seen(indented(wait.arguments));
  const isShown = values.length <= SHOWN_MAX;
  const what = wait.tool === null ? "What the call shows" : "Arguments";
  const tenant = call.tenant === "" ? "" : `<p>Tenant: ${plain(call.tenant)}</p>`;
  const until = wait.expiresAt === null ? "" : `<p>To be decided until ${plain(wait.expiresAt)}.</p>`;
  const form = (decision: string, label: string): string =>
    `<form method="post"><input type="hidden" name="digest" value="${plain(wait.digest)}"><button name="decision" value="${decision}">${label}</button></form>`;
  return page(
    `${wait.tool ?? call.tool}: approve?`,
    `<p>${plain(wait.message)}</p><p>Tool: <code>${plain(wait.tool ?? call.tool)}</code></p>${tenant}
<h2>${what}</h2>
${isShown ? `<pre dir="ltr">${escapeHtml(values)}</pre>` : "<p>They are too long to be shown here: approve the call in the console.</p>"}
${until}${isShown ? form("approve", "Approve") : ""}${form("refuse", "Refuse")}`,
  );
}

/** A page with one message. */
export function messagePage(message: string): string {
  return page("Calls that wait", `<p>${plain(message)}</p>`);
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${plain(title)}</title><style>${STYLE}</style></head>
<body><h1>${plain(title)}</h1>${content}</body></html>
`;
}

function plain(text: string): string {
  return escapeHtml(seen(text));
}

/** JSON with indents; of values with long integers, without. */
function indented(value: unknown): string {
  const text = writeAny(value);
  return text.length > SHOWN_MAX || /\d{16}/.test(text) ? text : JSON.stringify(value, null, 2);
}
