import { ERRORS, type ErrorCode, toolError } from "../../src/kernel/base/errors.ts";
import { ERROR_TEXTS, type ErrorText } from "./error-texts.ts";
import { code, page, table } from "./markdown.ts";

const CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** The table of errors, and a page for each code. */
export function errorPages(): readonly (readonly [name: string, text: string])[] {
  return [["errors/index.md", indexPage()], ...CODES.map((name) => [`errors/${name}.md`, errorPage(name)] as const)];
}

function indexPage(): string {
  const rows = CODES.map((name) => {
    const { http, retryable, blame, advice } = ERRORS[name];
    return [`[${code(name)}](${name}.md)`, `${http}`, retryable ? "yes" : "no", blame, advice];
  });
  return page("Errors", [
    "Every call ends with a result. `error.code` of a failed one is in this table. HTTP answers 200 whenever the tool ran, and the code's status where it did not. _Retryable_ says whether the same call may succeed later without a change; _blame_ says who has to change something.",
    table(["code", "HTTP", "retryable", "blame", "what to do"], rows),
  ]);
}

function errorPage(name: ErrorCode): string {
  const { type, http, retryable, blame, advice } = ERRORS[name];
  const { meaning, causes, message, details }: ErrorText = ERROR_TEXTS[name];
  const example = JSON.stringify(toolError(name, message, details), null, 2);
  return page(name, [
    meaning,
    table(
      ["", ""],
      [
        ["class", code(type)],
        ["HTTP status", `${http}`],
        ["retryable", retryable ? "yes" : "no"],
        ["blame", blame],
      ],
    ),
    "## Cause",
    causes.map((cause) => `- ${cause}`).join("\n"),
    "## What to do",
    advice,
    "## Example",
    "`error` of the result:",
    `\`\`\`json\n${example}\n\`\`\``,
    "All codes: [errors](index.md).",
  ]);
}
