import { ExpressionError } from "./expression-tokens.ts";
import { type Expression, readExpression, type Scope } from "./expression.ts";
import { isTrue, listOf, show } from "./expression-values.ts";

/** Maximum length of a template's output, in characters, and maximum number of its steps. */
const TEXT_MAX = 1_000_000;
const STEPS_MAX = 100_000;
const DEPTH_MAX = 20;
/** No expression is longer: the test for Jinja's forms looks no further. */
const TAG_MAX = 2_000;

type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly value: Expression }
  | {
      readonly kind: "if";
      readonly branches: readonly { readonly when: Expression; readonly parts: readonly Part[] }[];
    }
  | {
      readonly kind: "for";
      readonly names: readonly string[];
      readonly list: Expression;
      readonly body: readonly Part[];
    }
  | { readonly kind: "set"; readonly name: string; readonly value: Expression };

interface Tag {
  readonly kind: "text" | "value" | "tag";
  readonly text: string;
}

/** Syntax that only Jinja has, inside of a template's tags: Liquid writes all of it differently. */
const ONLY_JINJA =
  /\belif\b|\bis\s+(?:not\s+)?(?:defined|undefined|none)\b|\.\w+\(|\|\s*\w+\s*\(|["'\w]\s+(?:not\s+)?in\s+\w+[.\w]*\s*(?:[^\s\w.]|\b(?:and|or|else)\b|$)|\bif\b.+\belse\b|\[\s*-?\d*\s*:|\|\s*(?:tojson|title|regex_search)\b|^\s*set\b|\w\s+[-+*/~]\s+\w/;

/** Whether a template is written in Jinja, the language of Strands' workflows, rather than in Liquid. */
export function isJinja(template: string): boolean {
  return tagsOf(template).some(({ kind, text }) => {
    if (kind === "text") return false;
    if (/^for\s/.test(text)) return /^for\s+\w+\s*,/.test(text);
    return ONLY_JINJA.test(text.slice(0, TAG_MAX).replaceAll(/"[^"]*"|'[^']*'/g, '""'));
  });
}

/** A template that was read. Throws an `ExpressionError`. */
export function readJinja(template: string): (scope: Scope) => string {
  const tags = [...tagsOf(template)].reverse();
  const parts = readParts(tags, 0);
  const rest = tags.pop();
  if (rest !== undefined) throw new ExpressionError(`unexpected ${rest.text}`);
  return (scope) => {
    const output = new Output();
    output.write(parts, scope);
    return output.text;
  };
}

/**
 * Splits a template. `-` inside of a tag removes the space beside it; the line end after a block's tag is removed, too.
 */
function tagsOf(template: string): readonly Tag[] {
  const tags: Tag[] = [];
  let from = 0;
  let trims = false;
  const text = (to: number, trimsEnd: boolean) => {
    let between = template.slice(from, to);
    if (trims) between = between.trimStart();
    if (trimsEnd) between = between.trimEnd();
    if (between !== "") tags.push({ kind: "text", text: between });
  };
  for (let open = template.indexOf("{"); open !== -1; open = template.indexOf("{", open)) {
    const sign = template.charAt(open + 1);
    const close = CLOSINGS.get(sign);
    if (close === undefined) {
      open++;
      continue;
    }
    const end = template.indexOf(close, open + 2);
    if (end === -1) throw new ExpressionError(`a tag is not closed: {${sign}`);
    const inner = template.slice(open + 2, end);
    text(open, inner.startsWith("-"));
    if (sign !== "#") tags.push({ kind: sign === "{" ? "value" : "tag", text: inner.replace(/^-|-$/g, "").trim() });
    trims = inner.endsWith("-");
    open = from = end + 2;
  }
  text(template.length, false);
  return tags;
}

const CLOSINGS = new Map([
  ["{", "}}"],
  ["%", "%}"],
  ["#", "#}"],
]);

/** Reads up to a tag that is not one of a part's beginnings; it stays the last of `tags`, which are in reverse. */
function readParts(tags: Tag[], depth: number): readonly Part[] {
  if (depth > DEPTH_MAX) throw new ExpressionError("its blocks are nested too deeply");
  const parts: Part[] = [];
  for (let tag = tags.at(-1); tag !== undefined; tag = tags.at(-1)) {
    const [, word = "", rest = ""] = tag.kind === "tag" ? (/^(\w+)\s*(.*)$/s.exec(tag.text) ?? []) : [];
    if (["elif", "else", "endif", "endfor"].includes(word)) return parts;
    tags.pop();
    if (tag.kind === "text") parts.push({ kind: "text", text: tag.text });
    else if (tag.kind === "value") parts.push({ kind: "value", value: readExpression(tag.text) });
    else if (word === "if") parts.push(readIf(rest, tags, depth));
    else if (word === "for") parts.push(readFor(rest, tags, depth));
    else if (word === "set") parts.push(readSet(rest));
    else throw new ExpressionError(`unexpected ${tag.text}`);
  }
  return parts;
}

function readIf(condition: string, tags: Tag[], depth: number): Part {
  const branches = [{ when: readExpression(condition), parts: readParts(tags, depth + 1) }];
  for (;;) {
    const [, word, rest = ""] = /^(\w+)\s*(.*)$/s.exec(tags.pop()?.text ?? "") ?? [];
    if (word === "endif") return { kind: "if", branches };
    if (word !== "elif" && word !== "else") throw new ExpressionError("an if has no endif");
    const when = word === "elif" ? readExpression(rest) : () => true;
    branches.push({ when, parts: readParts(tags, depth + 1) });
  }
}

function readFor(text: string, tags: Tag[], depth: number): Part {
  const [, names = "", list] = /^(\w+(?:\s*,\s*\w+)*)\s+in\s+(.*)$/s.exec(text) ?? [];
  if (list === undefined) throw new ExpressionError(`unexpected for ${text}`);
  const body = readParts(tags, depth + 1);
  if (tags.pop()?.text !== "endfor") throw new ExpressionError("a for has no endfor");
  return { kind: "for", names: names.split(",").map((name) => name.trim()), list: readExpression(list), body };
}

function readSet(text: string): Part {
  const [, name, value] = /^(\w+)\s*=\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new ExpressionError(`unexpected set ${text}`);
  return { kind: "set", name, value: readExpression(value) };
}

/** The text of a template so far, within its limits. */
class Output {
  text = "";
  #steps = 0;

  write(parts: readonly Part[], given: Scope): void {
    let scope = given;
    for (const part of parts) {
      if (++this.#steps > STEPS_MAX) throw new ExpressionError(`it takes more than ${STEPS_MAX} steps`);
      switch (part.kind) {
        case "text":
          this.#add(part.text);
          break;
        case "value":
          this.#add(show(part.value(scope)));
          break;
        case "if":
          this.write(part.branches.find(({ when }) => isTrue(when(scope)))?.parts ?? [], scope);
          break;
        case "for":
          this.#repeat(part, scope);
          break;
        case "set":
          scope = { ...scope, [part.name]: part.value(scope) };
          break;
      }
    }
  }

  #repeat({ names, list, body }: Extract<Part, { readonly kind: "for" }>, scope: Scope): void {
    const items = listOf(list(scope));
    for (const [index, item] of items.entries()) {
      const values = names.length === 1 ? [item] : listOf(item);
      const loop = {
        index: index + 1,
        index0: index,
        first: index === 0,
        last: index === items.length - 1,
        length: items.length,
      };
      this.write(body, { ...scope, loop, ...Object.fromEntries(names.map((name, at) => [name, values[at]])) });
    }
  }

  #add(text: string): void {
    this.text += text;
    if (this.text.length > TEXT_MAX) throw new ExpressionError(`it makes more than ${TEXT_MAX} characters`);
  }
}
