import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, isSeq, parseDocument } from "yaml";
import { isObject, type JsonValue, visibleJson } from "../kernel/base/json.ts";
import { readYamlText } from "../kernel/base/yaml-text.ts";
import { CliError, EXIT } from "./exit.ts";

/** A rule of the policy: its members as JSON. */
type Rule = Readonly<Record<string, JsonValue>>;

/**
 * A configuration's text with a rule added to those of its policy. The rest, such as comments, stays unchanged. Throws
 * a `CliError` if the form of the text does not allow that.
 */
export function withRule(text: string, rule: Rule): string {
  const before = readYamlText(text).value ?? {};
  const added = insertRule(text, rule);
  // The written text must have the intended meaning, for any texts in the rule.
  if (added === null || !isDeepStrictEqual(readYamlText(added).value, expected(before, rule))) {
    throw new CliError(
      EXIT.FAILED,
      `the file has a form that is not edited by itself: add it to policy.rules\n${asYaml(rule)}`,
    );
  }
  return added;
}

/** A rule as an item of a list in YAML. Its names and values are JSON, so that no text in them is syntax. */
export function asYaml(rule: Rule, indent = ""): string {
  const lines = Object.entries(rule).map(([name, value]) => `${name}: ${visibleJson(value)}`);
  return lines.map((line, at) => `${indent}${at === 0 ? "- " : "  "}${line}`).join("\n");
}

function expected(before: unknown, rule: Rule): unknown {
  if (!isObject(before)) return undefined;
  const policy = isObject(before["policy"]) ? before["policy"] : {};
  const rules: readonly unknown[] = Array.isArray(policy["rules"]) ? policy["rules"] : [];
  return { ...before, policy: { ...policy, rules: [...rules, rule] } };
}

function insertRule(text: string, rule: Rule): string | null {
  const { contents } = parseDocument(text, { uniqueKeys: false });
  const policy = `policy:\n  rules:\n${asYaml(rule, "    ")}\n`;
  if (contents === null || (isScalar(contents) && contents.value === null)) return `${onOwnLine(text)}${policy}`;
  if (!isMap(contents)) return null;
  const rules: unknown = contents.getIn(["policy", "rules"], true);
  if (rules === undefined) {
    if (contents.has("policy")) return null;
    const json = `"policy": ${visibleJson({ rules: [rule] })}`;
    return contents.flow === true ? intoFlow(text, contents, json) : `${onOwnLine(text)}${policy}`;
  }
  if (!isSeq(rules)) return null;
  if (rules.flow === true) return intoFlow(text, rules, visibleJson(rule));
  const last = rules.items.at(-1);
  const [start] = rules.range ?? [];
  const end = rangeOf(last)?.[1];
  if (start === undefined || end === undefined) return null;
  const indent = " ".repeat(start - (text.lastIndexOf("\n", start - 1) + 1));
  const at = text[end - 1] === "\n" ? end : lineEnd(text, end);
  return `${onOwnLine(text.slice(0, at))}${asYaml(rule, indent)}\n${text.slice(at)}`;
}

/** Puts an item after the others of a list or an object in brackets. */
function intoFlow(
  text: string,
  around: { items: readonly unknown[]; range?: readonly number[] | null },
  item: string,
): string | null {
  const last = around.items.at(-1);
  const value = typeof last === "object" && last !== null && "value" in last && "key" in last ? last.value : last;
  const end = rangeOf(value)?.[1];
  if (end !== undefined) return `${text.slice(0, end)}, ${item}${text.slice(end)}`;
  const [start] = around.range ?? [];
  return start === undefined || last !== undefined
    ? null
    : `${text.slice(0, start + 1)}${item}${text.slice(start + 1)}`;
}

function rangeOf(node: unknown): readonly number[] | undefined {
  if (typeof node !== "object" || node === null || !("range" in node) || !Array.isArray(node.range)) return undefined;
  return node.range as readonly number[];
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end + 1;
}

function onOwnLine(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
