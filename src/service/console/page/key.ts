const NAME = "glovebox.key";

/** The key that this tab uses: kept until the tab is closed, and nowhere else. */
export function loadKey(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null;
  }
}

export function saveKey(key: string | null): void {
  try {
    if (key === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, key);
  } catch {
    // A browser that keeps nothing asks again.
  }
}
