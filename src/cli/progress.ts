import { isatty } from "node:tty";

const STDERR = 2;
const SHOWN_AFTER_MS = 1_000;
const CLEAR_LINE = "\r\u001b[K";

/**
 * Waits for work. On a terminal, what takes longer than a second is named with its time, in a line that goes again.
 * `terminal`: `null` where nobody watches.
 */
export async function whileWaiting<Value>(
  what: string,
  work: Promise<Value>,
  terminal: { write: (text: string) => unknown } | null = isatty(STDERR) ? process.stderr : null,
): Promise<Value> {
  if (terminal === null) return work;
  let seconds = 0;
  const timer = setInterval(() => {
    seconds++;
    terminal.write(`${CLEAR_LINE}glovebox: ${what}, ${seconds} s`);
  }, SHOWN_AFTER_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (seconds > 0) terminal.write(CLEAR_LINE);
  }
}
