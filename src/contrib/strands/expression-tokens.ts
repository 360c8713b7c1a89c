/** An expression that cannot be read, or not be evaluated. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

export type Token =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "name" | "sign" | "end"; readonly value: string };

/** Also limits the depth of recursion for one expression. */
const LENGTH_MAX = 2_000;
const TOKEN =
  /\s+|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<number>\d+(?:\.\d+)?)|(?<name>[A-Za-z_]\w*)|(?<sign>[=!<>]=|\/\/|[-+*/%~<>|.,:()[\]])/sy;
const ESCAPES: { readonly [letter: string]: string } = { n: "\n", t: "\t", r: "\r" };

/** Throws an `ExpressionError` for a character that no expression has. */
export function tokensOf(text: string): readonly Token[] {
  if (text.length > LENGTH_MAX) throw new ExpressionError(`it has more than ${LENGTH_MAX} characters`);
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const groups = TOKEN.exec(text)?.groups;
    if (TOKEN.lastIndex === 0) throw new ExpressionError(`unexpected ${JSON.stringify(text.charAt(at))}`);
    if (groups?.["text"] !== undefined) tokens.push({ kind: "text", value: unquote(groups["text"]) });
    else if (groups?.["number"] !== undefined) tokens.push({ kind: "number", value: Number(groups["number"]) });
    else if (groups?.["name"] !== undefined) tokens.push({ kind: "name", value: groups["name"] });
    else if (groups?.["sign"] !== undefined) tokens.push({ kind: "sign", value: groups["sign"] });
  }
  return [...tokens, { kind: "end", value: "its end" }];
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replaceAll(/\\(.)/gs, (_all, letter: string) => ESCAPES[letter] ?? letter);
}
