import { batch, signal } from "@preact/signals";

const NAME = "glovebox.key";

/** The key of this tab. Session storage keeps it until the tab is closed. */
export const key = signal(load());

/** Number of keys that were used before: data is reloaded for each new key. */
export const keyChanges = signal(0);

/** Uses another key, or none. */
export function takeKey(text: string | null): void {
  save(text);
  batch(() => {
    key.value = text;
    keyChanges.value++;
  });
}

function load(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null;
  }
}

function save(text: string | null): void {
  try {
    if (text === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, text);
  } catch {
    // Without storage the page asks for the key again.
  }
}
