import type { ToolDescription } from "../kernel/tool/contracts/contract.ts";
import { propertyKey } from "../kernel/tool/declarations/names.ts";
import { scopedName } from "./names.ts";
import { type Declared, INDENT, signatureOf } from "./signature.ts";

/** The tools of a model as TypeScript, within a budget. */
export interface Declarations {
  readonly text: string;
  /** Names of the tools that the text declares. */
  readonly declared: readonly string[];
  /** Number of all tools. */
  readonly total: number;
}

export interface DeclarationBudget {
  /** A token is counted as 4 characters. */
  readonly tokens: number;
  /** Names of tools that are declared before others; each may end in `*`. */
  readonly isPinned: (name: string) => boolean;
}

const TOKEN_CHARS = 4;
/** Namespaces with a line of their own. */
const NAMESPACES_MAX = 200;
/** Characters of a namespace besides its name and its members. */
const BLOCK_CHARS = 12;

interface Namespace {
  readonly name: string;
  /** Cheapest first. */
  readonly waiting: ToolDescription[];
  readonly total: number;
  readonly declared: { readonly tool: ToolDescription; readonly as: Declared }[];
}

/**
 * Declares as many tools as the budget allows: pinned ones first, then one of each namespace in turn, the shortest
 * first. The text is a function of the tools alone, so that caches of prompts stay valid: their order does not matter.
 */
export function declareWithin(
  tools: readonly ToolDescription[],
  { tokens, isPinned }: DeclarationBudget,
): Declarations {
  const namespaces = namespacesOf(tools);
  const lines = namespaces.slice(0, NAMESPACES_MAX).map(({ name, total }) => `- ${labelOf(name)}: ${countOf(total)}`);
  if (namespaces.length > NAMESPACES_MAX) lines.push(`- ${namespaces.length - NAMESPACES_MAX} more namespaces`);
  let left = tokens * TOKEN_CHARS - lines.join("\n").length;
  const take = (namespace: Namespace, tool: ToolDescription, as: Declared): boolean => {
    const opening = namespace.declared.length === 0 ? namespace.name.length + BLOCK_CHARS : 0;
    const cost = as.length + opening;
    if (cost > left) return false;
    left -= cost;
    namespace.declared.push({ tool, as });
    return true;
  };
  for (const namespace of namespaces) takePinned(namespace, isPinned, take);
  takeInTurns(namespaces, take);
  const names = takeNames(namespaces, left);
  const declared = namespaces.flatMap((namespace) => namespace.declared.map(({ tool }) => tool.name)).toSorted();
  const parts = [headOf(declared.length, tools.length), lines.join("\n"), writeTools(namespaces), names];
  return { text: parts.filter((part) => part !== "").join("\n\n"), declared, total: tools.length };
}

function namespacesOf(tools: readonly ToolDescription[]): readonly Namespace[] {
  const byName = Map.groupBy(tools, ({ name }) => scopedName(name).namespace);
  return [...byName]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, members]) => ({ name, waiting: members.toSorted(byCost), total: members.length, declared: [] }));
}

function byCost(one: ToolDescription, other: ToolDescription): number {
  const difference = signatureOf(one).full.length - signatureOf(other).full.length;
  return difference === 0 ? (one.name < other.name ? -1 : 1) : difference;
}

type Take = (namespace: Namespace, tool: ToolDescription, as: Declared) => boolean;

function takePinned(namespace: Namespace, isPinned: DeclarationBudget["isPinned"], take: Take): void {
  for (const tool of namespace.waiting.filter(({ name }) => isPinned(name))) {
    const { full, short } = signatureOf(tool);
    if (take(namespace, tool, full) || take(namespace, tool, short)) remove(namespace.waiting, tool);
  }
}

function takeInTurns(namespaces: readonly Namespace[], take: Take): void {
  let open = namespaces;
  while (open.length > 0) {
    open = open.filter((namespace) => {
      const [tool] = namespace.waiting;
      if (tool === undefined) return false;
      const { full, short } = signatureOf(tool);
      if (!take(namespace, tool, full) && !take(namespace, tool, short)) return false;
      namespace.waiting.shift();
      return true;
    });
  }
}

/** Names of tools that are not declared, as far as there is room. */
function takeNames(namespaces: readonly Namespace[], room: number): string {
  let left = room;
  const names: string[] = [];
  for (const { name } of namespaces.flatMap(({ waiting }) => waiting)) {
    left -= name.length + 2;
    if (left < 0) break;
    names.push(name);
  }
  return names.length === 0 ? "" : `Not declared here: ${names.toSorted().join(", ")}`;
}

function headOf(declared: number, total: number): string {
  if (total === 0) return "There are no tools.";
  if (declared === total)
    return total === 1 ? "The only tool is declared below." : `All ${total} tools are declared below.`;
  return `${declared} of ${total} tools are declared below. search_tools finds the others.`;
}

function labelOf(namespace: string): string {
  return namespace === "" ? "without a namespace" : namespace;
}

function countOf(total: number): string {
  return total === 1 ? "1 tool" : `${total} tools`;
}

/** The declaration of `tools`, with the types that its members name. */
function writeTools(namespaces: readonly Pick<Namespace, "name" | "declared">[]): string {
  const shown = namespaces.filter(({ declared }) => declared.length > 0);
  if (shown.length === 0) return "";
  const types = shown.flatMap(({ declared }) => declared.map(({ as }) => as.types)).filter((text) => text !== "");
  const blocks = shown.map(({ name, declared }) => {
    const members = declared.toSorted((one, other) => (one.tool.name < other.tool.name ? -1 : 1));
    const indent = name === "" ? INDENT : INDENT + INDENT;
    const text = members.map(({ as }) => indented(as.member, indent)).join("\n");
    return name === "" ? text : `${INDENT}${propertyKey(name)}: {\n${text}\n${INDENT}};`;
  });
  return [...types, `declare const tools: {\n${blocks.join("\n")}\n};`].join("\n");
}

/** The declarations of some tools, in full or short. */
export function declareTools(tools: readonly ToolDescription[], form: "full" | "short"): string {
  const byName = Map.groupBy(tools, ({ name }) => scopedName(name).namespace);
  const namespaces = [...byName].map(([name, members]) => ({
    name,
    declared: members.map((tool) => ({ tool, as: signatureOf(tool)[form] })),
  }));
  return writeTools(namespaces);
}

function indented(text: string, indent: string): string {
  return text.replaceAll(/^(?=.)/gm, indent);
}

function remove<Item>(items: Item[], item: Item): void {
  items.splice(items.indexOf(item), 1);
}
