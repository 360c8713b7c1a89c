import { badge, card, h, table } from "./elements.ts";
import { formatLimit } from "./format.ts";
import type { Explanation } from "./wire.ts";

const LIMITS: Readonly<Record<string, string>> = {
  queueMs: "Waiting for a start",
  cpuMs: "Processor time",
  wallMs: "Time from start to result",
  memoryMb: "Memory",
  inputBytes: "Arguments",
  outputBytes: "Output",
  logBytes: "Logs kept",
  capabilityCalls: "Requests to the host",
  capabilityBytes: "Data to and from the host",
};
const SOURCES: Readonly<Record<string, string>> = {
  default: "default",
  limits: "the engine's",
  tool: "the tool's own",
  maxLimits: "the ceiling",
};

/** Cards with a tool's grants, denied requests and limits. */
export function explanationCards({ grants, limits, findings }: Explanation): readonly HTMLElement[] {
  const nothing = "Nothing but computation: no network, no files, no secrets.";
  const granted = grants.map(({ capability, granted: words, from }) =>
    h("li", {}, h("span", { class: "strong" }, capability), ` ${words} `, h("span", { class: "muted" }, from)),
  );
  const vain = findings.map(({ pointer, reason, remediation }) =>
    h(
      "li",
      { class: "notice warn" },
      h("span", { class: "strong" }, sentence(reason)),
      h("br"),
      `To change that: ${remediation}. `,
      h("code", {}, pointer),
    ),
  );
  const rows = limits.map(({ limit, value, from }) => [
    LIMITS[limit] ?? limit,
    h("span", { class: "figures" }, formatLimit(limit, value)),
    from === "default" ? h("span", { class: "muted" }, "default") : badge(SOURCES[from] ?? from),
  ]);
  return [
    card(
      "What it may do",
      granted.length === 0 ? h("p", {}, nothing) : h("ul", { class: "plain-list" }, ...granted),
      vain.length === 0 ? null : h("h3", {}, "Denied requests"),
      vain.length === 0 ? null : h("ul", { class: "plain-list" }, ...vain),
    ),
    card("Limits of a call", table("Limits of a call", ["Limit", "Value", "From"], rows)),
  ];
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}
