import { type Outcome, ResultCard } from "./result-card.ts";
import { type Explanation, isRecord, type Json, type ToolInfo, type ToolResult } from "./wire.ts";
import { ApiError, type CallBody, explainTool, runCall } from "./api.ts";
import { copyText, curlOf } from "./clipboard.ts";
import { announce, badge, card, fill, h, table } from "./elements.ts";
import { explanationCards } from "./explanation-cards.ts";
import { ArgumentsForm } from "./form/arguments-form.ts";
import { formatBytes, formatMs } from "./format.ts";
import { jsonView } from "./json-view.ts";
import { CallOptions } from "./call-options.ts";

/** View of one tool: its description, grants and limits, and a form to call it. */
export class ToolView {
  readonly element: HTMLElement;
  readonly #tool: ToolInfo;
  readonly #form: ArgumentsForm;
  readonly #options = new CallOptions();
  readonly #result = new ResultCard();
  readonly #history = h("div");
  readonly #about = h("div", { class: "columns" });
  readonly #quarantine = h(
    "p",
    { class: "notice warn", hidden: true },
    "This tool is in quarantine: it ended an executor, and runs in a process of its own until enough calls went well. Calls may be refused.",
  );
  readonly #run = h("button", { type: "submit", class: "primary", click: (event) => this.#onButton(event) }, "Run");
  readonly #shortcut = h("kbd", {}, "Enter");
  #running: AbortController | null = null;

  constructor(tool: ToolInfo) {
    this.#tool = tool;
    this.#form = new ArgumentsForm(tool.inputSchema);
    this.element = h(
      "div",
      { class: "stack" },
      header(tool),
      this.#quarantine,
      h("div", { class: "columns" }, this.#formCard(), this.#result.element),
      this.#history,
      this.#about,
      schemas(tool),
    );
    this.#showHistory();
    void this.#explain();
  }

  setQuarantined(isQuarantined: boolean): void {
    this.#quarantine.hidden = !isQuarantined;
  }

  /** Cancels the running call. */
  close(): void {
    this.#running?.abort();
  }

  #formCard(): HTMLElement {
    const copied = h("span", { class: "muted", role: "status" });
    const copy = h("button", { type: "button", class: "quiet", click: () => void this.#copy(copied) }, "Copy as curl");
    const keys = h("span", { class: "muted keys", "aria-hidden": "true" }, h("kbd", {}, "Ctrl"), " ", this.#shortcut);
    this.#setRunning(null);
    const submit = (event: Event): void => {
      event.preventDefault();
      void this.#submit();
    };
    const form = h(
      "form",
      { submit, keydown: (event) => this.#onKey(event), novalidate: true, class: "stack" },
      this.#form.element,
      this.#options.element,
      h("div", { class: "row actions" }, this.#run, keys, copy, copied),
    );
    return card("Try it", form);
  }

  /** Ctrl+Enter runs and never cancels; Ctrl+. cancels. */
  #onKey(event: Event): void {
    if (!(event instanceof KeyboardEvent) || !(event.ctrlKey || event.metaKey)) return;
    if (event.key === "Enter") void this.#submit();
    else if (event.key === "." && this.#running !== null) this.#running.abort();
    else return;
    event.preventDefault();
  }

  #onButton(event: Event): void {
    if (this.#running === null) return;
    event.preventDefault();
    this.#running.abort();
  }

  #setRunning(running: AbortController | null): void {
    this.#running = running;
    fill(this.#run, running === null ? "Run" : "Cancel");
    fill(this.#shortcut, running === null ? "Enter" : ".");
    this.#run.setAttribute("aria-keyshortcuts", running === null ? "Control+Enter" : "Control+.");
  }

  async #copy(copied: HTMLElement): Promise<void> {
    const body = this.#body();
    if (body === null) return;
    fill(copied, (await copyText(curlOf(body))) ? "Copied" : "The browser blocks the clipboard");
    setTimeout(() => fill(copied), 3_000);
  }

  #body(): CallBody | null {
    const args = this.#form.read();
    const options = this.#options.read();
    if (args === null || options === null) return null;
    return { name: this.#tool.name, arguments: args, ...(Object.keys(options).length === 0 ? {} : { options }) };
  }

  async #submit(): Promise<void> {
    if (this.#running !== null) return;
    const body = this.#body();
    if (body === null) return announce("The arguments are not complete");
    const running = new AbortController();
    this.#setRunning(running);
    this.#result.start();
    announce(`${this.#tool.name} runs`);
    this.#result.element.scrollIntoView({ block: "nearest" });
    try {
      const result = await runCall(body, this.#result, running.signal);
      this.#end(body.arguments, result);
    } catch (error) {
      const message = running.signal.aborted ? "You cancelled the call." : messageOf(error);
      this.#result.fail(message);
      announce(message);
    }
    this.#setRunning(null);
  }

  #end(args: Json, result: ToolResult): void {
    const outcome = { result, capabilities: this.#result.capabilities };
    rememberCall({ ...outcome, tool: this.#tool.name, arguments: args, time: new Date() });
    this.#result.show(outcome);
    this.#showHistory();
    const { success, error, metadata } = result;
    for (const { pointer, message } of violationsOf(result)) this.#form.complain(pointer, message);
    const time = formatMs(metadata.wallMs);
    announce(success ? `${this.#tool.name} ended well in ${time}` : `${this.#tool.name} failed: ${error?.code ?? ""}`);
  }

  #showHistory(): void {
    const calls = callsOf(this.#tool.name);
    if (calls.length < 2) return fill(this.#history);
    const rows = calls.map((call) => {
      const { success, error, metadata } = call.result;
      const again = h(
        "button",
        {
          type: "button",
          class: "quiet small",
          click: () => {
            this.#form.write(call.arguments);
            this.#result.show(call);
            announce("An earlier call is shown");
          },
        },
        "Show",
      );
      const text = JSON.stringify(call.arguments);
      return [
        call.time.toLocaleTimeString(),
        h("code", { class: "short" }, text.length > 80 ? `${text.slice(0, 80)}…` : text),
        success ? badge("ok", "good") : badge(error?.code ?? "failed", "bad"),
        formatMs(metadata.wallMs),
        again,
      ];
    });
    fill(
      this.#history,
      card("Earlier calls", table("Earlier calls", ["Time", "Arguments", "Outcome", "Took", "Again"], rows)),
    );
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

function violationsOf({ error }: ToolResult): readonly { readonly pointer: string; readonly message: string }[] {
  const details = error?.code === "invalid_arguments" && isRecord(error.details) ? error.details["violations"] : [];
  return (Array.isArray(details) ? (details as readonly unknown[]) : []).flatMap((one) =>
    isRecord(one) ? [{ pointer: String(one["pointer"]), message: String(one["message"]) }] : [],
  );
}

function messageOf(error: unknown): string {
  if (!(error instanceof ApiError)) return "The connection was lost before the result arrived.";
  return error.status === 401 ? "The server requires a key." : `${error.message}.`;
}

/** A call made from this page. */
export interface PastCall extends Outcome {
  readonly tool: string;
  readonly arguments: Json;
  readonly time: Date;
}

const CALLS_MAX = 100;

let calls: readonly PastCall[] = [];

/** Keeps a call until the page is closed; the oldest is dropped above the maximum. */
export function rememberCall(call: PastCall): void {
  calls = [call, ...calls].slice(0, CALLS_MAX);
}

/** Calls of one tool, the latest first. */
export function callsOf(tool: string): readonly PastCall[] {
  return calls.filter((call) => call.tool === tool);
}
