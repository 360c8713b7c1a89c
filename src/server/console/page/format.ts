/** A duration for display: `840 µs`, `1.24 ms`, `2.5 s`. */
export function formatMs(ms: number): string {
  if (ms === 0) return "0 ms";
  if (ms < 1) return `${Math.round(ms * 1_000)} µs`;
  if (ms < 1_000) return `${digits(ms)} ms`;
  return ms < 120_000 ? `${digits(ms / 1_000)} s` : formatSpan(ms);
}

const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });

/** A time for display, in the time zone of the reader. */
export function formatTime(time: number | string): string {
  return DAY_AND_TIME.format(new Date(time));
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time, or a distance before now (`15m`, `24h`, `7d`), as the API reads it. */
export function timeOf(text: string, nowMs: number): string {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return count === undefined ? text : String(nowMs - Number(count) * (UNITS_MS[unit] ?? 0));
}

/** A long duration in its two largest units. */
export function formatSpan(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const units = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  const first = units.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  const shown = units.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${digits(bytes / 1024 ** power)} ${units[power] ?? ""}`;
}

export function formatCount(count: number): string {
  return count >= 10_000 ? `${digits(count / 1_000)} k` : digits(count);
}

/** A limit with its unit, by the suffix of its name. */
export function formatLimit(name: string, value: number): string {
  if (name.endsWith("Ms")) return formatMs(value);
  if (name.endsWith("Mb")) return formatBytes(value * 1024 ** 2);
  return name.endsWith("Bytes") ? formatBytes(value) : String(value);
}

/** `"1 call"`, `"2 calls"`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Three significant digits, and all digits before the decimal point. */
function digits(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/**
 * Characters that change the order of reading, or are invisible: a person who decides by a text would read another one
 * than runs. Whitespace of the layout is excluded. `DI`: Default_Ignorable_Code_Point.
 */
const UNSEEN = /[^\P{C}\t\n\r]|[\p{Zl}\p{Zp}\p{DI}]/gu;

/** A text in which each of them is escaped as in JSON, so that JSON keeps its meaning. */
export function seen(text: string): string {
  return text.replaceAll(UNSEEN, (sign) =>
    Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}
