import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { ENVIRONMENT } from "./environment.ts";
import { normalizedName } from "./wheel-name.ts";
import { admits, isSpecifiers, isVersion } from "./versions.ts";

/** The condition of a requirement (PEP 508): `python_version >= "3.8" and extra == "socks"`. */
export type Marker =
  | { readonly kind: "compare"; readonly left: Term; readonly operator: string; readonly right: Term }
  | { readonly kind: "and" | "or"; readonly parts: readonly Marker[] };

/** An environment variable or a literal text. */
type Term = { readonly kind: "variable" | "text"; readonly value: string };

const MARKER_MAX = 2_000;
const TOKENS_MAX = 200;
const NESTING_MAX = 20;
const TOKEN = /\s*(?:('[^']*'|"[^"]*")|([A-Za-z_][\w.]*)|(===|[<>=!~]=|[<>()]))/y;
const EXTRA = "extra";
/** Variables that are compared as versions. */
const VERSIONS: readonly string[] = ["python_version", "python_full_version", "implementation_version"];
const OPERATORS: readonly string[] = ["===", "==", "!=", "<=", ">=", "~=", "<", ">", "in", "not in"];

/** Parses a marker. Throws a `PackageError` if it is invalid. */
export function readMarker(text: string): Marker {
  const tokens = new Tokens(text);
  const marker = readOr(tokens, 0);
  if (tokens.next() !== undefined) throw notUnderstood(text);
  return marker;
}

/** Whether a marker is true in this environment for an extra; empty for no extra. */
export function isMet(marker: Marker, extra: string): boolean {
  switch (marker.kind) {
    case "and":
      return marker.parts.every((part) => isMet(part, extra));
    case "or":
      return marker.parts.some((part) => isMet(part, extra));
    case "compare":
      return compareTerms(marker, extra);
    default:
      return marker satisfies never;
  }
}

/** Number of comparisons in a marker. */
export function countComparisons(marker: Marker): number {
  return marker.kind === "compare" ? 1 : marker.parts.reduce((sum, part) => sum + countComparisons(part), 0);
}

function compareTerms({ left, operator, right }: Extract<Marker, { kind: "compare" }>, extra: string): boolean {
  const valueOf = ({ kind, value }: Term): string =>
    kind === "text" ? value : value === EXTRA ? extra : (ENVIRONMENT.get(value) ?? "");
  const isExtra = [left, right].some(({ kind, value }) => kind === "variable" && value === EXTRA);
  const [one, other] = [left, right].map(valueOf).map((text) => (isExtra ? normalizedName(text) : text));
  if (one === undefined || other === undefined) return false;
  const isOfVersions = [left, right].some(({ kind, value }) => kind === "variable" && VERSIONS.includes(value));
  if (operator === "in") return isOfVersions ? listed(other).includes(one) : other.includes(one);
  if (operator === "not in") return isOfVersions ? !listed(other).includes(one) : !other.includes(one);
  // If the literal is on the left, the comparison is mirrored.
  const [version, specifier] =
    right.kind === "variable" && left.kind === "text"
      ? [other, `${mirrored(operator)}${one}`]
      : [one, operator + other];
  if (isOfVersions && isVersion(version) && isSpecifiers(specifier)) return admits(specifier, version);
  return compareTexts(one, operator, other);
}

function compareTexts(one: string, operator: string, other: string): boolean {
  switch (operator) {
    case "==":
    case "===":
      return one === other;
    case "!=":
      return one !== other;
    case "<":
      return one < other;
    case "<=":
      return one <= other;
    case ">":
      return one > other;
    case ">=":
      return one >= other;
    default:
      return false;
  }
}

function mirrored(operator: string): string {
  return operator.replace(/^[<>]/, (sign) => (sign === "<" ? ">" : "<"));
}

function listed(text: string): readonly string[] {
  return text.split(/[\s,|]+/);
}

function readOr(tokens: Tokens, depth: number): Marker {
  const parts = [readAnd(tokens, depth)];
  while (tokens.take("or")) parts.push(readAnd(tokens, depth));
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { kind: "or", parts };
}

function readAnd(tokens: Tokens, depth: number): Marker {
  const parts = [readOne(tokens, depth)];
  while (tokens.take("and")) parts.push(readOne(tokens, depth));
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : { kind: "and", parts };
}

function readOne(tokens: Tokens, depth: number): Marker {
  if (depth > NESTING_MAX) throw notUnderstood(tokens.text);
  if (tokens.take("(")) {
    const inner = readOr(tokens, depth + 1);
    if (!tokens.take(")")) throw notUnderstood(tokens.text);
    return inner;
  }
  const left = readTerm(tokens);
  const operator = tokens.take("not") ? `not ${tokens.next() ?? ""}` : (tokens.next() ?? "");
  if (!OPERATORS.includes(operator)) throw notUnderstood(tokens.text);
  return { kind: "compare", left, operator, right: readTerm(tokens) };
}

function readTerm(tokens: Tokens): Term {
  const token = tokens.next() ?? "";
  if (/^['"]/.test(token)) return { kind: "text", value: token.slice(1, -1) };
  // Some deprecated names have dots, as in the modules that they come from.
  const value = token === "python_implementation" ? "platform_python_implementation" : token.replaceAll(".", "_");
  if (value !== EXTRA && !ENVIRONMENT.has(value)) throw notUnderstood(tokens.text);
  return { kind: "variable", value };
}

class Tokens {
  readonly text: string;
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.text = text;
    this.#tokens = tokensOf(text);
  }

  next(): string | undefined {
    return this.#tokens[this.#at++];
  }

  take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at++;
    return true;
  }
}

function tokensOf(text: string): readonly string[] {
  const whole = text.trim();
  const tokens: string[] = [];
  const pattern = new RegExp(TOKEN);
  while (pattern.lastIndex < whole.length) {
    const [, literal, word, sign] = pattern.exec(whole) ?? [];
    const token = literal ?? word ?? sign;
    if (token === undefined || whole.length > MARKER_MAX || tokens.length === TOKENS_MAX) throw notUnderstood(text);
    tokens.push(token);
  }
  return tokens;
}

function notUnderstood(text: string): PackageError {
  return new PackageError(`has the marker ${quoted(text.trim())}, which is not supported`);
}
