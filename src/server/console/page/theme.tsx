import { effect, signal } from "@preact/signals";
import { Quiet } from "./elements.tsx";

const NAME = "glovebox.theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const SIGNS: Readonly<Record<Theme, string>> = { system: "◐", light: "☀", dark: "☾" };

const theme = signal(load());

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
});

/** A button that cycles through the themes: system, light, dark. */
export function ThemeButton() {
  const turn = (): void => {
    theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
    save(theme.value);
  };
  return (
    <Quiet onClick={turn}>
      <span aria-hidden="true" class="sign">
        {SIGNS[theme.value]}
      </span>
      <span class="unseen">Theme: </span>
      {`${theme.value[0]?.toUpperCase() ?? ""}${theme.value.slice(1)}`}
    </Quiet>
  );
}

function load(): Theme {
  try {
    return THEMES.find((one) => one === localStorage.getItem(NAME)) ?? "system";
  } catch {
    return "system";
  }
}

function save(chosen: Theme): void {
  try {
    localStorage.setItem(NAME, chosen);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}
