import { badge, fill, h, table } from "./elements.ts";
import { formatBytes, formatMs, plural } from "./format.ts";
import { jsonView, textView } from "./json-view.ts";
import type { CallListener } from "./api.ts";
import {
  type CapabilityCall,
  isRecord,
  type LogLine,
  type Progress,
  type Remedy,
  type ToolError,
  type ToolResult,
} from "./wire.ts";

/** Remedies by error code, inserted when the page is bundled. */
declare const ADVICE: Readonly<Record<string, string>>;

/** Maximum number of lines shown while a call runs; its result contains all that were kept. */
const LIVE_MAX = 500;
const TICK_MS = 100;

/** Result of a call, and its capability calls. */
export interface Outcome {
  readonly result: ToolResult;
  readonly capabilities: readonly CapabilityCall[];
}

type OutputParts = (outcome: Outcome) => readonly (Node | null)[];

const HINT = "Run the tool to see what it gives back, what it logs and what it costs.";

/** Shows a call while it runs, and its result. */
export class ResultCard implements CallListener {
  readonly element: HTMLElement;
  readonly #body = h("div", { class: "stack" });
  #logs: HTMLElement = h("ol", { class: "logs" });
  #capabilities: CapabilityCall[] = [];
  readonly #progress = h("progress", { "aria-label": "Progress of the call" });
  readonly #progressText = h("p", { class: "muted" });
  readonly #hint: string;
  readonly #outputOf: OutputParts;
  #ticking = 0;

  /** `hint`: shown before the first call. `outputOf`: what is shown of an outcome, beside its error and its cost. */
  constructor(hint = HINT, outputOf: OutputParts = outputParts) {
    this.#hint = hint;
    this.#outputOf = outputOf;
    this.element = h("section", { class: "card result", "aria-labelledby": "result-heading" }, this.#body);
    this.clear();
  }

  get capabilities(): readonly CapabilityCall[] {
    return this.#capabilities;
  }

  clear(): void {
    this.#show("Result", h("p", { class: "empty" }, this.#hint));
  }

  start(): void {
    this.#capabilities = [];
    this.#logs = h("ol", { class: "logs", hidden: true });
    this.#progress.removeAttribute("value");
    fill(this.#progressText);
    const time = h("span", { class: "figures muted" });
    const startedMs = performance.now();
    clearInterval(this.#ticking);
    this.#ticking = setInterval(() => fill(time, formatMs(performance.now() - startedMs)), TICK_MS);
    this.#body.setAttribute("aria-busy", "true");
    this.#show(
      "Running",
      h("div", { class: "row" }, badge("running"), time),
      this.#progress,
      this.#progressText,
      this.#logs,
    );
  }

  onLog(line: LogLine): void {
    this.#logs.hidden = false;
    if (this.#logs.childElementCount < LIVE_MAX) this.#logs.append(logLine(line));
  }

  onProgress({ progress, total, message }: Progress): void {
    if (total !== undefined && total > 0) {
      this.#progress.max = total;
      this.#progress.value = Math.min(progress, total);
    }
    const share = total === undefined ? String(progress) : `${progress} of ${total}`;
    fill(this.#progressText, message === undefined ? share : `${share}: ${message}`);
  }

  onCapability(call: CapabilityCall): void {
    if (this.#capabilities.length < LIVE_MAX) this.#capabilities.push(call);
  }

  /** Shows why there is no result. */
  fail(message: string): void {
    this.#end();
    this.#show("No result", h("p", { class: "notice bad" }, message));
  }

  show(outcome: Outcome): void {
    this.#end();
    const { success, error, metadata } = outcome.result;
    this.#show(
      "Result",
      h(
        "div",
        { class: "row" },
        success ? badge("ok", "good") : badge(error?.code ?? "failed", "bad"),
        h("span", { class: "figures" }, formatMs(metadata.wallMs)),
        metadata.attempts > 1 ? badge(plural(metadata.attempts, "attempt"), "warn") : null,
      ),
      error === null ? null : errorView(error),
      ...this.#outputOf(outcome),
      logList(metadata),
    );
  }

  #end(): void {
    clearInterval(this.#ticking);
    this.#body.removeAttribute("aria-busy");
  }

  #show(heading: string, ...parts: readonly (Node | null)[]): void {
    fill(this.#body, h("h2", { id: "result-heading" }, heading), ...parts);
  }
}

function outputParts({ result, capabilities }: Outcome): readonly (Node | null)[] {
  const { success, output, metadata } = result;
  const text = typeof output === "string" ? textView("Output", output) : jsonView("Output", output);
  return [success ? text : null, costs(metadata), capabilities.length === 0 ? null : capabilityTable(capabilities)];
}

function errorView({ code, type, message, retryable, details, remedies = [] }: ToolError): HTMLElement {
  const advice = ADVICE[code];
  const given = isRecord(details) ? details : {};
  const { stack, violations } = given;
  const lines = Array.isArray(violations) ? (violations as readonly unknown[]) : [];
  return h(
    "div",
    { class: "notice bad stack" },
    h("p", { class: "strong message" }, lines.length > 0 ? type : `${type}: ${message.slice(0, 2_000)}`),
    lines.length === 0
      ? null
      : h("ul", {}, ...lines.slice(0, 50).map((line) => h("li", {}, isRecord(line) ? String(line["message"]) : ""))),
    advice === undefined
      ? null
      : h("p", {}, ...advice.split("`").map((text, at) => (at % 2 === 0 ? text : h("code", {}, text)))),
    ...remedies.map(remedyView),
    retryable ? h("p", { class: "muted" }, "The same call may succeed later.") : null,
    typeof stack === "string" ? h("details", {}, h("summary", {}, "Stack"), textView("Stack", stack)) : null,
  );
}

const PLACES: Readonly<Record<string, string>> = {
  config: "In the configuration",
  tool: "In the tool's definition",
  command: "Run",
};

function remedyView({ kind, yaml, ts, command }: Remedy): HTMLElement {
  const place = PLACES[kind] ?? kind;
  return h("div", { class: "stack tight" }, h("p", {}, `${place}:`), textView(place, yaml ?? ts ?? command ?? ""));
}

/** Queue and run time as one bar, and the other costs of a call. */
export function costs({ queueMs, wallMs, cpuMs, heapBytes, attempts }: ToolResult["metadata"]): HTMLElement {
  const total = Math.max(queueMs + wallMs, 0.001);
  const part = (ms: number) => Math.round((ms / total) * 1_000) / 10;
  const cpu = Math.min(cpuMs, wallMs);
  const cells = [
    ["Waited", formatMs(queueMs), "wait"],
    ["Took", formatMs(wallMs), "wall"],
    ["Processor", formatMs(cpuMs), "cpu"],
    ["Heap", heapBytes === 0 ? "—" : formatBytes(heapBytes), ""],
    ["Attempts", String(attempts), ""],
  ] as const;
  return h(
    "div",
    { class: "stack tight" },
    attempts === 0 ? null : bar([part(queueMs), part(cpu), part(wallMs - cpu)]),
    h(
      "dl",
      { class: "facts" },
      ...cells.map(([name, value, key]) =>
        h(
          "div",
          {},
          h("dt", {}, key === "" ? null : h("span", { class: `key ${key}`, "aria-hidden": "true" }), name),
          h("dd", {}, value),
        ),
      ),
    ),
  );
}

function bar(shares: readonly [wait: number, cpu: number, rest: number]): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 4");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "bar");
  svg.setAttribute("aria-hidden", "true");
  let at = 0;
  for (const [index, share] of shares.entries()) {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ x: at, width: share, height: 4 }))
      rect.setAttribute(name, String(value));
    rect.setAttribute("class", ["wait", "cpu", "wall"][index] ?? "");
    svg.append(rect);
    at += share;
  }
  return svg;
}

function capabilityTable(calls: readonly CapabilityCall[]): HTMLElement {
  const rows = calls.map(({ step, capability, method, outcome, durationMs }) => [
    String(step),
    `${capability}.${method}`,
    badge(outcome, outcome === "ok" || outcome === "replayed" ? "good" : "bad"),
    formatMs(durationMs),
  ]);
  return h(
    "div",
    { class: "stack tight" },
    h("h3", {}, "Asked of the host"),
    table("Asked of the host", ["Step", "What", "Outcome", "Time"], rows),
  );
}

function logList({ logs, truncated }: ToolResult["metadata"]): HTMLElement | null {
  if (logs.length === 0) return null;
  const dropped = truncated?.logs ?? 0;
  return h(
    "div",
    { class: "stack tight" },
    h("h3", {}, "Logs"),
    h("ol", { class: "logs", tabindex: 0, "aria-label": "Logs" }, ...logs.slice(0, 5_000).map(logLine)),
    dropped === 0 ? null : h("p", { class: "muted" }, `${plural(dropped, "more line")} had no room.`),
  );
}

function logLine({ level, message }: LogLine): HTMLElement {
  const kind = level === "error" ? "bad" : level === "warn" ? "warn" : "";
  return h("li", { class: kind }, h("span", { class: "level" }, level), h("span", {}, message));
}
