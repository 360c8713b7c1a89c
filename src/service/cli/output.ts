/**
 * All that commands write. Tools are not trusted, and what they say ends up on somebody's terminal, which takes
 * control characters for commands: they are shown, not sent.
 */

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

let sendNotice = (text: string): void => void process.stderr.write(`${escapeControl(text)}\n`);

/** Writes a line to stderr, or wherever `sendNotices` says. */
export function say(text: string): void {
  sendNotice(text);
}

/** Sends what `say` gets somewhere else from now on: to a service's log. */
export function sendNotices(send: (text: string) => void): void {
  sendNotice = send;
}

/** Writes a line to stdout. */
export function print(text: string): void {
  process.stdout.write(`${escapeControl(text)}\n`);
}

/** Writes a value to stdout, as JSON in one line. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** A text for one line of a screen: what moves the cursor, or turns the direction of writing, is shown as well. */
export function visible(text: string): string {
  return text.replaceAll(/[\t\n\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, "0")}`;
  });
}

/** In JSON's own notation, so that escaped JSON still means the same. */
export function escapeControl(text: string): string {
  return text.replaceAll(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
