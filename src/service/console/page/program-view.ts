import { checkProgram, explainTool, getDeclarations, runCall } from "./api.ts";
import { messageOf } from "./call-form.ts";
import { CallOptions } from "./call-options.ts";
import { announce, badge, card, fill, h, newId, table } from "./elements.ts";
import { readJson } from "./exact-json.ts";
import { formatMs, plural } from "./format.ts";
import { textView } from "./json-view.ts";
import { problemsIn, programParts } from "./program-result.ts";
import { ResultCard } from "./result-card.ts";
import { RunControl } from "./run-control.ts";
import type { Json, ProgramExplanation, ProgramProblem, ToolResult } from "./wire.ts";

const SAMPLE = `// The body of an async function. It may call the tools that are declared below.
const found = await search_tools({ query: "", detail: "name" });
return found.matches.map(({ name }) => name);
`;
const PROBLEMS_MAX = 20;
const HINT = "Run the program to see what it returns, which tools it calls, what it logs and what it costs.";

/** The text of the page's program, also when another view was shown meanwhile. */
let draft = SAMPLE;

/** A program over the tools: it can be written, checked and run, and its calls are shown beside its text. */
export class ProgramView {
  readonly element: HTMLElement;
  readonly #code: HTMLTextAreaElement;
  readonly #input: HTMLTextAreaElement;
  readonly #inputError = h("p", { class: "error", id: newId(), role: "status" });
  readonly #problems = h("div", { class: "stack tight", role: "status" });
  readonly #options = new CallOptions();
  readonly #control = new RunControl(() => void this.#run());
  readonly #about = h("div", { class: "columns" });
  /** The text that the last run was given: the other may be edited meanwhile. */
  #ran = "";
  readonly #result = new ResultCard(HINT, (outcome) => programParts(this.#ran, outcome.result));

  constructor() {
    this.#code = h("textarea", {
      id: newId(),
      class: "code editor long",
      rows: 14,
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      input: () => (draft = this.#code.value),
    });
    this.#code.value = draft;
    this.#input = h("textarea", {
      id: newId(),
      class: "code",
      rows: 2,
      spellcheck: "false",
      autocomplete: "off",
      "aria-describedby": this.#inputError.id,
    });
    this.#result.element.classList.add("wide");
    this.element = h(
      "div",
      { class: "stack" },
      h("h1", { tabindex: -1 }, "Program"),
      h("p", { class: "lead" }, "One program in place of many calls, as a model writes it for run_code."),
      this.#formCard(),
      this.#result.element,
      this.#about,
    );
    void this.#explain();
  }

  /** Cancels the running program. */
  close(): void {
    this.#control.cancel();
  }

  #formCard(): HTMLElement {
    const { button, hint } = this.#control;
    const check = h("button", { type: "button", class: "quiet", click: () => void this.#check() }, "Check");
    const form = this.#control.form(
      h("label", { for: this.#code.id, class: "name" }, "Program in TypeScript"),
      this.#code,
      this.#problems,
      h("label", { for: this.#input.id, class: "name" }, "Input as JSON, which the program sees as input"),
      this.#input,
      this.#inputError,
      this.#options.element,
      h("div", { class: "row actions" }, button, check, hint),
    );
    return card("Write a program", form);
  }

  async #check(): Promise<void> {
    const code = this.#code.value;
    try {
      const problems = await checkProgram(code);
      this.#showProblems(problems);
      announce(problems.length === 0 ? "No mistakes found" : `${plural(problems.length, "mistake")} found`);
    } catch (error) {
      fill(this.#problems, h("p", { class: "notice warn" }, messageOf(error)));
    }
  }

  async #run(): Promise<void> {
    const input = this.#readInput();
    const options = this.#options.read();
    if (input === undefined || options === null) return;
    const signal = this.#control.begin();
    if (signal === null) return;
    const code = this.#code.value;
    fill(this.#problems);
    this.#ran = code;
    this.#result.start();
    announce("The program runs");
    const given = Object.keys(options).length === 0 ? {} : { options };
    try {
      const result = await runCall({ name: "run_code", arguments: { code, input }, ...given }, this.#result, signal);
      this.#end(result);
    } catch (error) {
      const message = signal.aborted ? "You cancelled the program." : messageOf(error);
      this.#result.fail(message);
      announce(message);
    }
    this.#control.end();
  }

  #end(result: ToolResult): void {
    const { success, error, metadata } = result;
    this.#result.show({ result, capabilities: [] });
    const problems = problemsIn(result);
    if (problems.length > 0) this.#showProblems(problems);
    const calls = plural(metadata.calls?.length ?? 0, "call");
    const time = formatMs(metadata.wallMs);
    announce(success ? `The program ended well in ${time}, with ${calls}` : `The program failed: ${error?.code ?? ""}`);
  }

  #readInput(): Json | undefined {
    const text = this.#input.value.trim();
    this.#input.removeAttribute("aria-invalid");
    fill(this.#inputError);
    if (text === "") return null;
    try {
      return readJson(text);
    } catch {
      this.#input.setAttribute("aria-invalid", "true");
      fill(this.#inputError, "This is not JSON.");
      this.#input.focus();
      return undefined;
    }
  }

  #showProblems(problems: readonly ProgramProblem[]): void {
    if (problems.length === 0) return fill(this.#problems, h("p", {}, badge("no mistakes", "good")));
    const items = problems.slice(0, PROBLEMS_MAX).map((problem) => {
      const { line, column, message } = problem;
      const go = h(
        "button",
        { type: "button", class: "quiet small", click: () => this.#goTo(problem) },
        `line ${line}, column ${column}`,
      );
      return h("li", {}, go, ` ${message.slice(0, 2_000)}`);
    });
    fill(
      this.#problems,
      h("div", { class: "notice bad stack" }, h("p", { class: "strong" }, "Mistakes"), h("ul", {}, ...items)),
    );
  }

  /** Puts the cursor to a place of the text. */
  #goTo({ line, column }: ProgramProblem): void {
    const before = this.#code.value.split("\n", line - 1).reduce((length, text) => length + text.length + 1, 0);
    const at = Math.min(before + column - 1, this.#code.value.length);
    this.#code.focus();
    this.#code.setSelectionRange(at, at);
  }

  async #explain(): Promise<void> {
    const [declared, explained] = await Promise.allSettled([getDeclarations(), explainTool("run_code")]);
    const declarations =
      declared.status === "rejected"
        ? h("p", { class: "notice warn" }, messageOf(declared.reason))
        : h("details", {}, h("summary", {}, "Declarations"), textView("Declarations of tools", declared.value.text));
    const program = explained.status === "fulfilled" ? explained.value.program : undefined;
    fill(
      this.#about,
      card("What models read", declarations),
      program === undefined ? null : card("What programs may call", ...callableTools(program)),
    );
  }
}

function callableTools({ tools, callable, total }: ProgramExplanation): readonly HTMLElement[] {
  const rows = tools.map(({ tool, isCallable, from, reason = "" }) => [
    h("a", { href: `#/tools/${encodeURIComponent(tool)}`, class: "mono" }, tool),
    isCallable ? badge("yes", "good") : badge("no", "warn"),
    isCallable ? from.join(", ") : reason,
  ]);
  const rest = total - tools.length;
  return [
    h("p", {}, `${callable} of ${plural(total, "tool")}.`),
    table("Tools of programs", ["Tool", "May be called", "Why"], rows),
    ...(rest > 0 ? [h("p", { class: "muted" }, `${plural(rest, "more tool")} not shown.`)] : []),
  ];
}
