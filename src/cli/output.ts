import { UNSEEN } from "../kernel/base/json.ts";

/**
 * Output of commands. Text from untrusted tools ends up on a terminal, which executes control characters: they are
 * escaped.
 */

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

type Notice = (text: string, fields: object, level: "info" | "error") => void;

let sendNotice: Notice = (text) => void process.stderr.write(`${escapeControl(text)}\n`);

/** Writes a line to stderr, or to the target set by `sendNotices`; `fields` are for a log of JSON. */
export function say(text: string, fields: object = {}): void {
  sendNotice(text, fields, "info");
}

/** Writes the reason for a command's end, as `say` does. */
export function sayError(text: string): void {
  sendNotice(text, {}, "error");
}

/** Redirects the notices of `say`, for example to a service's log. */
export function sendNotices(send: Notice): void {
  sendNotice = send;
}

/** Writes a line to stdout. */
export function print(text: string): void {
  process.stdout.write(`${escapeControl(text)}\n`);
}

/** Writes a value to stdout as one line of JSON. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** `1 tool`, `2 tools`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A word as shells read it back. */
export function forShell(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Escapes a text for one line of a screen, including cursor movements and changes of the writing direction. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code > 0xffff ? `{${code.toString(16)}}` : code.toString(16).padStart(4, "0")}`;
  });
}

/** Escapes control characters in JSON's notation, so that escaped JSON keeps its meaning. */
export function escapeControl(text: string): string {
  return text.replaceAll(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
