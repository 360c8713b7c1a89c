import { ExpressionError, type Token, tokensOf } from "./expression-tokens.ts";
import { isIn, isTrue, limited, member, operation, show, slice } from "./expression-values.ts";

/** Values by name. */
export interface Scope {
  readonly [name: string]: unknown;
}

/** A parsed expression: it reads only the scope's own values, and calls only fixed operations. */
export type Expression = (scope: Scope) => unknown;

const DEPTH_MAX = 50;
const CONSTANTS = new Map<string, unknown>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);
const WORDS = new Set(["and", "or", "not", "in", "is", "if", "else", "contains"]);

/** Reads an expression as Jinja has them. Throws an `ExpressionError`. */
export function readExpression(text: string): Expression {
  const reader = new Reader(tokensOf(text));
  const expression = reader.whole();
  reader.end();
  return expression;
}

/** Whether the condition of an edge is true: `else` always is. Throws an `ExpressionError`. */
export function holds(condition: string, scope: Scope): boolean {
  const text = conditionText(condition);
  return text === "else" || isTrue(readExpression(text)(scope));
}

/** Problem of a condition; `null` if it can be read. */
export function describeCondition(condition: string): string | null {
  const text = conditionText(condition);
  try {
    if (text !== "else") readExpression(text);
    return null;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}

/** Conditions may be in the braces of a template. */
function conditionText(condition: string): string {
  const text = condition.trim();
  const inner = text.startsWith("{{") && text.endsWith("}}") ? text.slice(2, -2).trim() : text;
  return inner.toLowerCase() === "else" ? "else" : inner;
}

class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    if (++this.#depth > DEPTH_MAX) throw new ExpressionError("it is nested too deeply");
    const value = this.#or();
    let result = value;
    if (this.#takes("if")) {
      const condition = this.#or();
      const other: Expression = this.#takes("else") ? this.whole() : () => "";
      result = (scope) => (isTrue(condition(scope)) ? value(scope) : other(scope));
    }
    this.#depth--;
    return result;
  }

  end(): void {
    if (this.#now.kind !== "end") throw this.#unexpected();
  }

  #or(): Expression {
    let left = this.#and();
    while (this.#takes("or")) {
      const [first, second] = [left, this.#and()];
      left = (scope) => {
        const value = first(scope);
        return isTrue(value) ? value : second(scope);
      };
    }
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.#takes("and")) {
      const [first, second] = [left, this.#not()];
      left = (scope) => {
        const value = first(scope);
        return isTrue(value) ? second(scope) : value;
      };
    }
    return left;
  }

  #not(): Expression {
    let negations = 0;
    while (this.#takes("not")) negations++;
    const value = this.#comparison();
    if (negations === 0) return value;
    return (scope) => isTrue(value(scope)) === (negations % 2 === 0);
  }

  #comparison(): Expression {
    const left = this.#sum();
    if (this.#takes("is")) return this.#test(left);
    const isNot = this.#now.value === "not" && this.#now.kind === "name";
    if (isNot) this.#at++;
    const { kind, value: sign } = this.#now;
    const compare = kind === "text" || kind === "number" ? undefined : COMPARISONS.get(sign);
    if (compare === undefined || (isNot && sign !== "in")) {
      if (isNot) throw this.#unexpected();
      return left;
    }
    this.#at++;
    const right = this.#sum();
    return (scope) => compare(left(scope), right(scope)) !== isNot;
  }

  #test(value: Expression): Expression {
    const isNot = this.#takes("not");
    const name = this.#name();
    const test = TESTS.get(name);
    if (test === undefined) throw new ExpressionError(`undefined test: ${name}`);
    return (scope) => test(value(scope)) !== isNot;
  }

  #sum(): Expression {
    return this.#binary(SUMS, () => this.#binary(PRODUCTS, () => this.#operand()));
  }

  #binary(operators: ReadonlyMap<string, Arithmetic>, operand: () => Expression): Expression {
    let left = operand();
    for (;;) {
      const { kind, value: sign } = this.#now;
      const combine = kind === "sign" ? operators.get(sign) : undefined;
      if (combine === undefined) return left;
      this.#at++;
      const [first, second] = [left, operand()];
      left = (scope) => combine(first(scope), second(scope));
    }
  }

  #operand(): Expression {
    const isNegative = this.#takes("-");
    let value = this.#postfix();
    while (this.#takes("|")) {
      const apply = operation("filter", this.#name());
      const [first, args] = [value, this.#takes("(") ? this.#list(")") : []];
      value = (scope) => apply(first(scope), ...args.map((arg) => arg(scope)));
    }
    return isNegative ? (scope) => -Number(value(scope)) : value;
  }

  #postfix(): Expression {
    let value = this.#primary();
    for (;;) {
      const target = value;
      if (this.#takes(".")) {
        const name = this.#now.kind === "number" ? String(this.#next().value) : this.#name();
        if (this.#takes("(")) {
          const [call, args] = [operation("method", name), this.#list(")")];
          value = (scope) => call(target(scope), ...args.map((arg) => arg(scope)));
        } else value = (scope) => member(target(scope), name);
      } else if (this.#takes("[")) value = this.#index(target);
      else return value;
    }
  }

  #index(target: Expression): Expression {
    const none: Expression = () => undefined;
    const from = this.#now.value === ":" ? none : this.whole();
    if (!this.#takes(":")) {
      this.#expect("]");
      return (scope) => member(target(scope), from(scope));
    }
    const to = this.#now.value === "]" ? none : this.whole();
    this.#expect("]");
    return (scope) => slice(target(scope), from(scope), to(scope));
  }

  #primary(): Expression {
    const token = this.#next();
    if (token.kind === "text" || token.kind === "number") return () => token.value;
    if (token.kind === "sign" && token.value === "(") {
      const inner = this.whole();
      this.#expect(")");
      return inner;
    }
    if (token.kind === "sign" && token.value === "[") {
      const items = this.#list("]");
      return (scope) => items.map((item) => item(scope));
    }
    if (token.kind !== "name" || WORDS.has(token.value)) throw new ExpressionError(`unexpected ${token.value}`);
    const name = token.value;
    if (CONSTANTS.has(name)) return () => CONSTANTS.get(name);
    if (!this.#takes("(")) return (scope) => member(scope, name);
    const [call, args] = [operation("function", name), this.#list(")")];
    return (scope) => {
      const [first, ...rest] = args.map((arg) => arg(scope));
      return call(first, ...rest);
    };
  }

  #list(end: string): readonly Expression[] {
    const items: Expression[] = [];
    while (!this.#takes(end)) {
      if (items.length > 0) this.#expect(",");
      items.push(this.whole());
    }
    return items;
  }

  get #now(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", value: "its end" };
  }

  #next(): Token {
    const token = this.#now;
    this.#at++;
    return token;
  }

  #name(): string {
    const token = this.#next();
    if (token.kind !== "name") throw new ExpressionError(`unexpected ${token.value}`);
    return token.value;
  }

  #takes(value: string): boolean {
    const { kind, value: found } = this.#now;
    if (kind === "text" || kind === "number" || found !== value) return false;
    this.#at++;
    return true;
  }

  #expect(value: string): void {
    if (!this.#takes(value)) throw this.#unexpected();
  }

  #unexpected(): ExpressionError {
    return new ExpressionError(`unexpected ${this.#now.value}`);
  }
}

type Comparison = (left: unknown, right: unknown) => boolean;

const COMPARISONS = new Map<string, Comparison>([
  ["==", (left, right) => left === right],
  ["!=", (left, right) => left !== right],
  ["<", (left, right) => order(left, right) < 0],
  ["<=", (left, right) => order(left, right) <= 0],
  [">", (left, right) => order(left, right) > 0],
  [">=", (left, right) => order(left, right) >= 0],
  ["in", isIn],
  ["contains", (left, right) => isIn(right, left)],
]);

/** Below zero if the left value comes first; `NaN` for values of two kinds, which have no order. */
function order(left: unknown, right: unknown): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string") return NaN;
  return left === right ? 0 : left < right ? -1 : 1;
}

const TESTS = new Map<string, (value: unknown) => boolean>([
  ["defined", (value) => value !== undefined],
  ["undefined", (value) => value === undefined],
  ["none", (value) => value === null],
  ["string", (value) => typeof value === "string"],
  ["number", (value) => typeof value === "number"],
]);

type Arithmetic = (left: unknown, right: unknown) => unknown;

const SUMS = new Map<string, Arithmetic>([
  ["+", (left, right) => (typeof left === "string" ? limited(left + show(right)) : Number(left) + Number(right))],
  ["~", (left, right) => limited(show(left) + show(right))],
  ["-", (left, right) => Number(left) - Number(right)],
]);

const PRODUCTS = new Map<string, Arithmetic>([
  ["*", (left, right) => Number(left) * Number(right)],
  ["/", (left, right) => Number(left) / Number(right)],
  ["//", (left, right) => Math.floor(Number(left) / Number(right))],
  ["%", (left, right) => Number(left) % Number(right)],
]);
