import { type Explanation, type ToolInfo } from "./wire.ts";
import { explainTool } from "./api.ts";
import { CallForm, messageOf } from "./call-form.ts";
import { badge, card, fill, h } from "./elements.ts";
import { explanationCards } from "./explanation-cards.ts";
import { formatBytes, formatMs } from "./format.ts";
import { jsonView } from "./json-view.ts";

/** View of one tool: its description, grants and limits, and a form to call it. */
export class ToolView {
  readonly element: HTMLElement;
  readonly #tool: ToolInfo;
  readonly #call: CallForm;
  readonly #about = h("div", { class: "columns" });
  readonly #quarantine = h(
    "p",
    { class: "notice warn", hidden: true },
    "This tool is in quarantine: it ended an executor, and runs in a process of its own until enough calls went well. Calls may be refused.",
  );

  constructor(tool: ToolInfo) {
    this.#tool = tool;
    this.#call = new CallForm(tool.name, tool.inputSchema);
    this.element = h(
      "div",
      { class: "stack" },
      header(tool),
      this.#quarantine,
      this.#call.element,
      this.#about,
      schemas(tool),
      nodeNames(tool),
    );
    void this.#explain();
  }

  setQuarantined(isQuarantined: boolean): void {
    this.#quarantine.hidden = !isQuarantined;
  }

  /** Cancels the running call. */
  close(): void {
    this.#call.close();
  }

  async #explain(): Promise<void> {
    let explanation: Explanation;
    try {
      explanation = await explainTool(this.#tool.name);
    } catch (error) {
      return fill(this.#about, card("What it may do", h("p", { class: "notice warn" }, messageOf(error))));
    }
    fill(this.#about, ...explanationCards(explanation));
  }
}

function header({
  name,
  description,
  version,
  contract,
  isolation,
  isolationReason,
  tags,
  script,
}: ToolInfo): HTMLElement {
  return h(
    "header",
    { class: "stack tight" },
    h("h1", { tabindex: -1 }, name, " ", h("span", { class: "muted version" }, version)),
    h("p", { class: "lead" }, description),
    h(
      "div",
      { class: "row" },
      badge(contract, "plain", "The contract of its module"),
      badge(
        isolation,
        isolationReason === undefined ? "plain" : "warn",
        isolationReason ?? "Isolation: what each call gets of its own",
      ),
      ...tags.slice(0, 20).map((tag) => badge(`#${tag}`)),
      h("span", { class: "muted" }, `${formatBytes(script.bytes)}, evaluated in ${formatMs(script.evaluationMs)}`),
    ),
  );
}

/** Names of Node that the tool uses; nothing for a tool without any. */
function nodeNames({ node = [] }: ToolInfo): HTMLElement | null {
  if (node.length === 0) return null;
  const works = node.filter(({ instead }) => instead === undefined).map(({ name }) => name);
  const refused = node.filter(({ instead }) => instead !== undefined);
  return card(
    "Names of Node",
    works.length === 0 ? null : h("p", {}, works.join(", ")),
    refused.length === 0 ? null : h("h3", {}, "An isolate has not"),
    refused.length === 0
      ? null
      : h(
          "ul",
          { class: "plain-list" },
          ...refused.map(({ name, instead = "" }) =>
            h("li", { class: "notice warn" }, h("code", {}, name), ` refuses when it is used: ${instead}.`),
          ),
        ),
  );
}

function schemas({ inputSchema, outputSchema, parsesReason, wholeReason }: ToolInfo): HTMLElement {
  const parts = [["Input", inputSchema] as const, ["Output", outputSchema] as const].map(([name, schema]) =>
    schema === null
      ? h("p", { class: "muted" }, `${name}: whatever it gives.`)
      : h("details", {}, h("summary", {}, name), jsonView(`${name} schema`, schema)),
  );
  const notes = [
    parsesReason === undefined
      ? null
      : `Each call parses with the tool's own schemas, in the isolate: ${parsesReason}.`,
    wholeReason === undefined ? null : `Each call evaluates the whole module: ${wholeReason}.`,
  ].filter((note) => note !== null);
  return card("Schemas", ...parts, ...notes.map((note) => h("p", { class: "muted" }, note)));
}
