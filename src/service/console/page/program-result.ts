import { badge, fill, h, newId, scrollBox, table } from "./elements.ts";
import { formatMs, plural } from "./format.ts";
import { jsonView, textView } from "./json-view.ts";
import { costs } from "./result-card.ts";
import { isRecord, type ProgramCall, type ProgramProblem, type ToolResult } from "./wire.ts";

/** Maximum numbers of rows and lines shown, and of characters in a line. */
const ROWS_MAX = 500;
const LINES_MAX = 2_000;
const LINE_CHARS_MAX = 1_000;
/** Width of the bars' picture; a bar is at least one of it wide. */
const WIDTH = 200;

/** The view of a program's run: its value, its calls as a waterfall beside its text, and its cost. */
export function programParts(code: string, { success, output, metadata }: ToolResult): readonly (Node | null)[] {
  const calls = metadata.calls ?? [];
  const text = new ProgramText(code, calls);
  return [
    success ? valueView(output) : null,
    h("div", { class: "columns" }, waterfall(calls, metadata.wallMs, text), text.element),
    costs(metadata),
  ];
}

/** The mistakes of a refused program. */
export function problemsIn({ error }: ToolResult): readonly ProgramProblem[] {
  const problems = error !== null && isRecord(error.details) ? error.details["problems"] : [];
  return (Array.isArray(problems) ? (problems as readonly unknown[]) : []).flatMap((one) =>
    isRecord(one) && typeof one["line"] === "number" && typeof one["column"] === "number"
      ? [{ line: one["line"], column: one["column"], message: String(one["message"]) }]
      : [],
  );
}

function valueView(output: unknown): HTMLElement {
  const { result, warnings, truncated } = isRecord(output) ? output : { result: output };
  const lines = Array.isArray(warnings) ? (warnings as readonly unknown[]).slice(0, ROWS_MAX) : [];
  return h(
    "div",
    { class: "stack tight" },
    h("h3", {}, "Returned"),
    typeof result === "string" ? textView("Returned", result) : jsonView("Returned", result),
    isRecord(truncated)
      ? h("p", { class: "muted" }, `This is a preview of ${String(truncated["chars"])} characters.`)
      : null,
    lines.length === 0
      ? null
      : h("ul", { class: "notice warn" }, ...lines.map((line) => h("li", {}, String(line).slice(0, 2_000)))),
  );
}

/** The calls in the order of their begin. The table says in words what the bars show. */
function waterfall(calls: readonly ProgramCall[], totalMs: number, text: ProgramText): HTMLElement {
  const heading = h("h3", {}, "Calls of tools");
  if (calls.length === 0) return h("div", { class: "stack tight" }, heading, h("p", { class: "empty" }, "None."));
  const endMs = calls.reduce((last, { startMs, wallMs }) => Math.max(last, startMs + wallMs), totalMs);
  const rows = calls
    .slice(0, ROWS_MAX)
    .map((call) => [
      h("a", { href: `#/tools/${encodeURIComponent(call.tool)}`, class: "mono" }, call.tool),
      text.linkTo(call),
      h("span", { class: "figures" }, formatMs(call.startMs)),
      h("span", { class: "figures" }, formatMs(call.wallMs)),
      badge(call.code, call.code === "ok" ? "good" : "bad"),
      bar(call, endMs),
      call.callId === undefined ? "none" : h("code", { class: "short" }, call.callId),
    ]);
  const heads = ["Tool", "Line", "Start", "Took", "Outcome", "Timeline", "Call"];
  const rest = calls.length - rows.length;
  return h(
    "div",
    { class: "stack tight" },
    heading,
    table("Calls of tools", heads, rows),
    rest > 0 ? h("p", { class: "muted" }, `${plural(rest, "more call")} not shown.`) : null,
  );
}

function bar({ startMs, wallMs, code }: ProgramCall, endMs: number): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({
    viewBox: `0 0 ${WIDTH} 10`,
    preserveAspectRatio: "none",
    class: "timeline",
    "aria-hidden": "true",
  }))
    svg.setAttribute(name, value);
  const scale = WIDTH / Math.max(endMs, 0.001);
  const width = Math.min(WIDTH, Math.max(1, wallMs * scale));
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const shape = { x: Math.min(startMs * scale, WIDTH - width), y: 1, width, height: 8 };
  for (const [name, value] of Object.entries(shape)) rect.setAttribute(name, String(value));
  rect.setAttribute("class", code === "ok" ? "ok" : code === "unfinished" ? "unfinished" : "failed");
  svg.append(rect);
  return svg;
}

/** The program's text with the numbers of its lines. */
class ProgramText {
  readonly element: HTMLElement;
  readonly #lines: readonly HTMLElement[];

  constructor(code: string, calls: readonly ProgramCall[]) {
    const calling = new Set(calls.map(({ line }) => line));
    const texts = code.split("\n", LINES_MAX);
    this.#lines = texts.map((text, at) => {
      const cut = text.length > LINE_CHARS_MAX ? `${text.slice(0, LINE_CHARS_MAX)}…` : text;
      return h("li", { tabindex: -1, class: calling.has(at + 1) ? "calls" : null }, cut === "" ? " " : cut);
    });
    const id = newId();
    const shown = texts.reduce((length, text) => length + text.length + 1, 0);
    this.element = h(
      "div",
      { class: "stack tight" },
      h("h3", { id }, "The program"),
      scrollBox("The program", "code-box", h("ol", { class: "program", "aria-labelledby": id }, ...this.#lines)),
      h("p", { class: "muted", hidden: shown > code.length }, "The rest of the text is not shown."),
    );
  }

  /** A button that leads to the line of a call. */
  linkTo({ line }: ProgramCall): Node | string {
    if (line === undefined) return "unknown";
    const target = this.#lines[line - 1];
    if (target === undefined) return String(line);
    const button = h("button", { type: "button", class: "quiet small", click: () => target.focus() });
    fill(button, h("span", { class: "unseen" }, "Line "), String(line));
    return button;
  }
}
