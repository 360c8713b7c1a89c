import { fill, h } from "./elements.ts";

const NAME = "glovebox.theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const SIGNS: Readonly<Record<Theme, string>> = { system: "◐", light: "☀", dark: "☾" };

const listeners = new Set<() => void>();
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", tell);

/** Adds a listener for colour changes; returns a function that removes it. */
export function onThemeChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** A button that cycles through the themes: system, light, dark. */
export function themeButton(): HTMLElement {
  let theme = load();
  const button = h("button", {
    type: "button",
    class: "quiet",
    click: () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "system";
      save(theme);
      show();
    },
  });
  const show = (): void => {
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    const name = `${theme[0]?.toUpperCase() ?? ""}${theme.slice(1)}`;
    fill(
      button,
      h("span", { "aria-hidden": "true", class: "sign" }, SIGNS[theme]),
      h("span", { class: "unseen" }, "Theme: "),
      name,
    );
    tell();
  };
  show();
  return button;
}

function tell(): void {
  for (const listener of listeners) listener();
}

function load(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(NAME)) ?? "system";
  } catch {
    return "system";
  }
}

function save(theme: Theme): void {
  try {
    localStorage.setItem(NAME, theme);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}
