import path from "node:path";
import { readVersion } from "../kernel/base/check-node.ts";
import type { ConfigFinding } from "../server/config/config-error.ts";
import { countOf, print, printJson, say } from "./output.ts";

type Format = "text" | "json" | "sarif" | "github";

interface Mistakes {
  /** The configuration file, if there is one. */
  readonly file: string | undefined;
  readonly findings: readonly ConfigFinding[];
}

/** Prints findings for people, for programs, or for tools that show them beside the code. */
export function reportFindings(mistakes: Mistakes, format: Format): void {
  switch (format) {
    case "json":
      return printJson({
        file: mistakes.file === undefined ? null : relative(mistakes.file),
        findings: mistakes.findings.map(asJson),
      });
    case "sarif":
      return printJson(sarif(mistakes));
    case "github":
      for (const finding of mistakes.findings) print(annotation(finding, mistakes.file));
      return;
    case "text":
      return printText(mistakes);
    default:
      format satisfies never;
  }
}

function levelOf(severity: ConfigFinding["severity"]): "error" | "warning" {
  return severity ?? "error";
}

function asJson({ rule, severity, place, position, pointer = "", message, fix }: ConfigFinding): object {
  const { line = null, column = null } = position ?? {};
  return { severity: levelOf(severity), rule, place, line, column, pointer, message, isRepairable: fix !== undefined };
}

/** A finding on each line, in the format of compilers, which editors recognise. */
function printText({ file, findings }: Mistakes): void {
  if (findings.every(({ severity }) => severity === "warning")) {
    print(file === undefined ? "no configuration file here, and none is needed" : "the configuration is valid");
  }
  if (findings.length === 0) return;
  const widths = [findings.map(({ place }) => place.length), findings.map(({ rule }) => rule.length)];
  const [placeWidth = 0, ruleWidth = 0] = widths.map((lengths) => Math.max(...lengths));
  for (const { place, rule, severity, message } of findings) {
    const start = placeWidth === 0 ? "" : `${place.padEnd(placeWidth)} `;
    say(`${start}${severity === undefined ? "error" : "warn "}  ${rule.padEnd(ruleWidth)}  ${message}`);
  }
  const warnings = findings.filter(({ severity }) => severity === "warning").length;
  const fixes = findings.filter(({ fix }) => fix !== undefined).length;
  const counts = [
    countOf(findings.length - warnings, "error"),
    ...(warnings === 0 ? [] : [countOf(warnings, "warning")]),
  ];
  say(counts.join(", ") + (fixes === 0 ? "" : `; glovebox config check --fix repairs ${fixes} of them`));
}

/** A workflow command of GitHub, which becomes an annotation of the line. */
function annotation({ rule, severity, position, message }: ConfigFinding, file: string | undefined): string {
  const place =
    position === undefined || file === undefined
      ? []
      : [`file=${property(relative(file))}`, `line=${position.line}`, `col=${position.column}`];
  return `::${levelOf(severity)} ${[...place, `title=${property(rule)}`].join(",")}::${data(message)}`;
}

function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** Static Analysis Results Interchange Format, version 2.1.0. */
function sarif({ file, findings }: Mistakes): object {
  const rules = [...new Set(findings.map(({ rule }) => rule))].map((id) => ({ id }));
  const results = findings.map(({ rule, severity, position, message }) => ({
    ruleId: rule,
    level: levelOf(severity),
    message: { text: message },
    locations: position === undefined || file === undefined ? [] : [location(file, position)],
  }));
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver: { name: "glovebox", version: readVersion(), rules } }, results }],
  };
}

function location(file: string, { line, column }: NonNullable<ConfigFinding["position"]>): object {
  const region = { startLine: line, startColumn: column };
  return { physicalLocation: { artifactLocation: { uri: encodeURI(relative(file)) }, region } };
}

export function relative(file: string): string {
  return path.relative(process.cwd(), path.resolve(file)).split(path.sep).join("/");
}
