import { h } from "./elements.ts";

const region = h("p", { class: "unseen", role: "status", "aria-live": "polite" });

/** Where those who listen to the page are told what has changed. */
export function liveRegion(): HTMLElement {
  return region;
}

export function announce(text: string): void {
  region.textContent = text;
}
