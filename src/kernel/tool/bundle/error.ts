import type { Location, Message } from "esbuild";
import { GloveboxError, loadError } from "../../base/errors.ts";
import { isPackages } from "./missing.ts";
import { shownName } from "./module-name.ts";

/** The `detail` of messages from esbuild that a plugin passes on. */
export const BUNDLER = "esbuild";
/** End of a message about a package that is installed without the imported file. */
const LACKING = " in its package";
const MAX_ERRORS = 10;
const MAX_LINE = 160;

/** Converts the bundler's messages to an error for the tool's author, without paths of the host. */
export function bundleError(name: string, messages: readonly Message[]): GloveboxError {
  const problems = messages.slice(0, MAX_ERRORS).map(problem);
  const more = messages.length > 1 ? ` (and ${messages.length - 1} more)` : "";
  const first = problems[0] ?? "could not be bundled";
  return loadError(name, `${first}${more}`, { errors: problems });
}

/** Whether the text could not be parsed, as opposed to an import that could not be resolved. */
export function isSyntaxError(message: Message): boolean {
  return (
    isBundlers(message) &&
    message.id !== "unsupported-dynamic-import" &&
    !isAwait(message) &&
    !/^(?:Could not resolve|No matching export)/.test(message.text)
  );
}

/** The bundler's name of the feature. */
export const AWAIT = "top-level-await";

/** Whether it says that a module awaits at its top level. */
export function isAwait({ text }: Message): boolean {
  return text.startsWith("Top-level await");
}

/** Whether a mistake stands after another one in the text. */
export function isFurther(one: Message | undefined, other: Message | undefined): boolean {
  const [a, b] = [one?.location, other?.location];
  if (a === null || a === undefined || b === null || b === undefined) return false;
  return a.line > b.line || (a.line === b.line && a.column > b.column);
}

function isBundlers(message: Message): boolean {
  return message.pluginName === "" || message.detail === BUNDLER;
}

/** The specifier that the bundler could not resolve, of its message. */
export function unresolvedIn({ text }: Message): string | undefined {
  return /^Could not resolve "(.*)"$/s.exec(text)?.[1];
}

/** The message of `unresolvedIn`, for a package that is installed without the imported file. */
export function asLacking(message: Message): Message {
  return { ...message, text: message.text + LACKING };
}

function problem(message: Message): string {
  const { text, location } = message;
  const line = location === null ? "" : ` at ${shownName(location.file)}:${location.line}`;
  const isLacking = text.endsWith(LACKING);
  const specifier = unresolvedIn(isLacking ? { ...message, text: text.slice(0, -LACKING.length) } : message);
  if (specifier !== undefined) return unresolved(specifier, line, isLacking);
  if (text.startsWith("Could not resolve import(") || message.id === "unsupported-dynamic-import") {
    return `imports a module${line} that is only known when it runs: import() takes a plain string`;
  }
  if (isAwait(message))
    return `awaits outside of any function${line}, which a tool cannot that uses AsyncLocalStorage: move the await into the tool's function`;
  const [, module, member] = /^No matching export in "([^"]+)" for import "([^"]+)"/.exec(text) ?? [];
  if (module !== undefined && member !== undefined) return notExported(shownName(module), member, line);
  if (!isBundlers(message)) return `${text}${line === "" ? "" : ` (${line.trim()})`}`;
  const column = location === null ? "" : `:${location.column + 1}`;
  return `could not be bundled: ${text}${line}${column}${location === null ? "" : sourceLine(location)}`;
}

function unresolved(specifier: string, line: string, isLacking: boolean): string {
  const shown = JSON.stringify(specifier.slice(0, 200));
  if (isLacking)
    return `imports ${shown}${line}, of which the package is there, and the file is not: build the package, or correct the import or the "exports" or "main" of its package.json`;
  if (specifier.startsWith("node:"))
    return `imports ${shown}${line}: Node.js has no module of that name; check its spelling`;
  const isPath = /^\.{0,2}\//.test(specifier);
  const where = isPath
    ? "in the tool's folder; check its path"
    : "in any node_modules folder above the tool; install it there";
  return `imports ${shown}${line}, which was not found ${where}`;
}

function notExported(module: string, member: string, line: string): string {
  const remedy = isPackages(module)
    ? "; check its name, and the version of the package: neither its form for browsers nor Node's has it"
    : "; check its name";
  return `imports "${member}"${line}, which ${module} does not export${remedy}`;
}

/** The line of a mistake, indented; empty if it has no text, as at the end of a file. */
function sourceLine({ lineText, column }: Location): string {
  const start = Math.max(0, column - MAX_LINE / 2);
  const shown = lineText.slice(start, start + MAX_LINE).trim();
  return shown === "" ? "" : `\n  ${shown}`;
}

/** Paths of the files that a bundle read before it failed, by its error: a correction of one starts another attempt. */
const filesByError = new WeakMap<object, readonly string[]>();

/** Remembers them; returns the error. */
export function withFiles<Failure>(error: Failure, read: readonly string[]): Failure {
  if (typeof error === "object" && error !== null) filesByError.set(error, read);
  return error;
}

/** Paths of the operator's files of which one may be the reason for an error; `[]` for any other error. */
export function filesOfFailure(error: unknown): readonly string[] {
  return (typeof error === "object" && error !== null ? filesByError.get(error) : undefined) ?? [];
}
