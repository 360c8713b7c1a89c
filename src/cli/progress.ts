import { isatty } from "node:tty";
import { watchPreparation } from "../kernel/tool/preparation.ts";
import { visible } from "./output.ts";

const STDERR = 2;
const SHOWN_AFTER_MS = 1_000;
/** Of the name of a tool: a line that is longer than the terminal is not cleared. */
const NAME_SHOWN_MAX = 30;
const CLEAR_LINE = "\r\u001b[K";

/** Starts the loading of tools, and shows how many of the found ones are loaded, and the last of them. */
export async function whileLoading<Value>(start: () => Promise<Value>): Promise<Value> {
  let [found, ended, last] = [0, 0, ""];
  using _watched = watchPreparation({
    onFound: (count) => void (found += count),
    onEnded: (name) => {
      ended++;
      last = visible(name.slice(0, NAME_SHOWN_MAX));
    },
  });
  const words = (): string => (ended === 0 ? "loading tools" : `loading tools, ${ended} of ${found}, ${last}`);
  return await whileWaiting(words, start());
}

/**
 * Waits for work. On a terminal, work of more than a second is shown with its time, in a line that disappears again.
 * `terminal`: `null` if the output is not a terminal.
 */
export async function whileWaiting<Value>(
  what: () => string,
  work: Promise<Value>,
  terminal: { write: (text: string) => unknown } | null = isatty(STDERR) ? process.stderr : null,
): Promise<Value> {
  if (terminal === null) return work;
  let seconds = 0;
  const timer = setInterval(() => {
    seconds++;
    terminal.write(`${CLEAR_LINE}glovebox: ${what()}, ${seconds} s`);
  }, SHOWN_AFTER_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (seconds > 0) terminal.write(CLEAR_LINE);
  }
}
