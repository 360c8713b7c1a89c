import { type Outcome, ResultCard } from "./result-card.ts";
import { isRecord, type Json, type Schema, type ToolResult } from "./wire.ts";
import { ApiError, type CallBody, runCall } from "./api.ts";
import { copyText, curlOf } from "./clipboard.ts";
import { announce, badge, card, fill, h, table } from "./elements.ts";
import { ArgumentsForm } from "./form/arguments-form.ts";
import { formatMs } from "./format.ts";
import { CallOptions } from "./call-options.ts";
import { RunControl } from "./run-control.ts";

/** A form to call a tool, the result of the last call, and the earlier ones. */
export class CallForm {
  readonly element: HTMLElement;
  readonly #name: string;
  readonly #form: ArgumentsForm;
  readonly #options = new CallOptions();
  readonly #result = new ResultCard();
  readonly #history = h("div");
  readonly #control = new RunControl(() => void this.#submit());

  constructor(name: string, inputSchema: Schema) {
    this.#name = name;
    this.#form = new ArgumentsForm(inputSchema);
    this.element = h(
      "div",
      { class: "stack" },
      h("div", { class: "columns" }, this.#formCard(), this.#result.element),
      this.#history,
    );
    this.#showHistory();
  }

  /** Cancels the running call. */
  close(): void {
    this.#control.cancel();
  }

  #formCard(): HTMLElement {
    const copied = h("span", { class: "muted", role: "status" });
    const copy = h("button", { type: "button", class: "quiet", click: () => void this.#copy(copied) }, "Copy as curl");
    const { button, hint } = this.#control;
    const form = this.#control.form(
      this.#form.element,
      this.#options.element,
      h("div", { class: "row actions" }, button, hint, copy, copied),
    );
    return card("Try it", form);
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
    return { name: this.#name, arguments: args, ...(Object.keys(options).length === 0 ? {} : { options }) };
  }

  async #submit(): Promise<void> {
    const signal = this.#control.begin();
    if (signal === null) return;
    const body = this.#body();
    if (body === null) {
      this.#control.end();
      return announce("The arguments are not complete");
    }
    this.#result.start();
    announce(`${this.#name} runs`);
    this.#result.element.scrollIntoView({ block: "nearest" });
    try {
      const result = await runCall(body, this.#result, signal);
      this.#end(body.arguments, result);
    } catch (error) {
      const message = signal.aborted ? "You cancelled the call." : messageOf(error);
      this.#result.fail(message);
      announce(message);
    }
    this.#control.end();
  }

  #end(args: Json, result: ToolResult): void {
    const outcome = { result, capabilities: this.#result.capabilities };
    rememberCall({ ...outcome, tool: this.#name, arguments: args, time: new Date() });
    this.#result.show(outcome);
    this.#showHistory();
    const { success, error, metadata } = result;
    for (const { pointer, message } of violationsOf(result)) this.#form.complain(pointer, message);
    const time = formatMs(metadata.wallMs);
    announce(success ? `${this.#name} ended well in ${time}` : `${this.#name} failed: ${error?.code ?? ""}`);
  }

  #showHistory(): void {
    const calls = callsOf(this.#name);
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
}

function violationsOf({ error }: ToolResult): readonly { readonly pointer: string; readonly message: string }[] {
  const details = error?.code === "invalid_arguments" && isRecord(error.details) ? error.details["violations"] : [];
  return (Array.isArray(details) ? (details as readonly unknown[]) : []).flatMap((one) =>
    isRecord(one) ? [{ pointer: String(one["pointer"]), message: String(one["message"]) }] : [],
  );
}

/** Message of a failed request. */
export function messageOf(error: unknown): string {
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
