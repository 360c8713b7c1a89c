import { useSignal } from "@preact/signals";
import type { CallBody } from "./api.ts";
import { Quiet } from "./elements.tsx";
import { key } from "./key.ts";

/** A button that copies a text, and reports the outcome. The text is made on demand; `null`: none exists. */
export function CopyButton({ name, text }: { name: string; text: () => string | null }) {
  const said = useSignal("");
  const copy = async (): Promise<void> => {
    const made = text();
    if (made === null) return;
    said.value = (await copyText(made)) ? "Copied" : "The browser blocks the clipboard";
    setTimeout(() => (said.value = ""), 3_000);
  };
  return (
    <>
      <Quiet onClick={() => void copy()}>{name}</Quiet>
      <span class="muted" role="status">
        {said}
      </span>
    </>
  );
}

/** Forms of a call for use outside the page. The key is omitted: it would end up in histories. */
export const SNIPPETS: Readonly<Record<string, (body: CallBody) => string>> = {
  "Copy as curl": curlOf,
  "Copy as TypeScript": ({ name, arguments: args, options }) =>
    `await engine.execute(${JSON.stringify({ name, arguments: args }, null, 2)}${options === undefined ? "" : `, ${JSON.stringify(options)}`});`,
  "Copy as MCP": ({ name, arguments: args }) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }, null, 2),
};

function curlOf(body: CallBody): string {
  const lines = [
    `curl -s ${location.origin}/v1/execute`,
    "-H 'content-type: application/json'",
    ...(key.value === null ? [] : ['-H "authorization: Bearer $GLOVEBOX_KEY"']),
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
