import { matchesName } from "../broker/capabilities/capability.ts";
import { propertyKey } from "../tool/declarations/names.ts";

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const LENGTH_MAX = 128;

/** The namespace of a tool and its name there: `github.list_issues` is `list_issues` of `github`. */
export interface ScopedName {
  /** Empty for a name without a dot. */
  readonly namespace: string;
  readonly member: string;
}

export function scopedName(name: string): ScopedName {
  const dot = name.indexOf(".");
  if (dot <= 0) return { namespace: "", member: name };
  return { namespace: name.slice(0, dot), member: name.slice(dot + 1) };
}

/** The expression that is a tool in a program: `tools.github.list_issues`, `tools["geo-find"]`. */
export function expressionOf(name: string): string {
  const { namespace, member } = scopedName(name);
  return `tools${namespace === "" ? "" : access(namespace)}${access(member)}`;
}

function access(name: string): string {
  return IDENTIFIER.test(name) ? `.${name}` : `[${propertyKey(name)}]`;
}

/** Whether one of the patterns, each of which may end in `*`, matches a name. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesName(pattern, name));
}

/** The names that are most like one that does not exist, the nearest first. */
export function nearestNames(name: string, names: readonly string[], count: number): readonly string[] {
  const wanted = wordsOf(name.slice(0, LENGTH_MAX));
  const member = scopedName(name).member.toLowerCase();
  const scored = names.map((one) => {
    const other = scopedName(one).member.toLowerCase();
    return { one, score: similarity(wanted, wordsOf(one)) + (other === member ? 1 : 0) };
  });
  const near = scored
    .filter(({ score }) => score > LEAST)
    .toSorted((a, b) => b.score - a.score || (a.one < b.one ? -1 : 1));
  return near.slice(0, count).map(({ one }) => one);
}

const LEAST = 0.34;

/** Pairs of letters, so that names of thousands of tools are compared in linear time. */
function wordsOf(name: string): ReadonlySet<string> {
  const text = ` ${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, " ")} `;
  return new Set(Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2)));
}

/** Dice's coefficient. */
function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let both = 0;
  for (const pair of one) if (other.has(pair)) both++;
  return (2 * both) / (one.size + other.size);
}
