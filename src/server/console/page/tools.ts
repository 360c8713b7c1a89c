import { signal } from "@preact/signals";
import { ApiError, getJson } from "./api.ts";
import type { ToolInfo } from "./wire.ts";

/** Interval of requests for the tool list, in milliseconds. */
const LIST_MS = 15_000;

/** The tools of the key; `null` until they are known. */
export const tools = signal<readonly ToolInfo[] | null>(null);
/** The reason why they are unknown. */
export const toolsProblem = signal<{ readonly isKeyless: boolean; readonly text: string } | null>(null);

/** Loads the tools now, and again and again while the page is visible. */
export function watchTools(): void {
  setInterval(() => {
    if (document.visibilityState === "visible") void loadTools();
  }, LIST_MS);
}

/** An unchanged list is kept, and so are the views of its tools. */
export async function loadTools(): Promise<void> {
  try {
    const found = await getJson<readonly ToolInfo[]>("/v1/tools");
    if (JSON.stringify(found) !== JSON.stringify(tools.value)) tools.value = found;
    toolsProblem.value = null;
  } catch (error) {
    if (tools.value !== null) return;
    const isKeyless = error instanceof ApiError && error.status === 401;
    const reason = error instanceof ApiError ? `: ${error.message}` : "";
    const text = isKeyless ? "The server requires a key." : `The list of tools could not be loaded${reason}.`;
    toolsProblem.value = { isKeyless, text };
  }
}
