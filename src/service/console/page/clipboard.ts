import type { CallBody } from "./api.ts";
import { loadKey } from "./key-dialog.ts";

/** The call as a command. The key is not in it: it would be in the shell's history. */
export function curlOf(body: CallBody): string {
  const lines = [
    `curl -s ${location.origin}/v1/execute`,
    "-H 'content-type: application/json'",
    ...(loadKey() === null ? [] : ['-H "authorization: Bearer $GLOVEBOX_KEY"']),
    `-d '${JSON.stringify(body).replaceAll("'", String.raw`'\''`)}'`,
  ];
  return lines.join(" \\\n  ");
}

/** Answers whether the text could be copied. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** Pages that came over plain HTTP from elsewhere have no clipboard but for what is selected. */
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
