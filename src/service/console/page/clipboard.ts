import type { CallBody } from "./api.ts";
import { loadKey } from "./key-dialog.ts";

/** The call as a curl command. The key is left out: it would end up in the shell's history. */
export function curlOf(body: CallBody): string {
  const lines = [
    `curl -s ${location.origin}/v1/execute`,
    "-H 'content-type: application/json'",
    ...(loadKey() === null ? [] : ['-H "authorization: Bearer $GLOVEBOX_KEY"']),
    `-d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`,
  ];
  return lines.join(" \\\n  ");
}

/** Copies a text; returns whether that worked. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** Copies through a selection: pages served over plain HTTP, other than from localhost, have no clipboard API. */
function copySelected(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  const before = document.activeElement;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}
