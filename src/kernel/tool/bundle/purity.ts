import type {
  ArrowFunctionExpression,
  CallExpression,
  Expression,
  FunctionExpression,
  Node,
  Pattern,
  Program,
} from "acorn";

/** npm packages whose modules and functions only make schemas. */
const LIBRARIES = /^(?:zod|valibot|@valibot\/to-json-schema|arktype|typebox|@sinclair\/typebox)(?:\/|$)/;
const LIBRARY_FILES = /(?:^|\/)node_modules\/(?:zod|valibot|@valibot|arktype|@ark|typebox|@sinclair\/typebox)\//;

/** Whether an import names a schema library. */
export function isSchemaLibrary(specifier: string): boolean {
  return LIBRARIES.test(specifier);
}

/** Whether a bundled file, by its displayed name, belongs to a schema library. */
export function isLibraryFile(shown: string): boolean {
  return LIBRARY_FILES.test(shown);
}

/** Maximum nesting that is followed; deeper code is impure. */
const DEPTH_MAX = 100;
const GLOBALS: ReadonlySet<string> = new Set(["undefined", "NaN", "Infinity"]);

/** The names at the top level of a module. */
interface Names {
  /** Names that a module imports from schema libraries. */
  readonly libraries: ReadonlySet<string>;
  readonly imports: ReadonlySet<string>;
  /** Values of constants. */
  readonly constants: ReadonlyMap<string, Expression>;
  /** Functions and classes. */
  readonly declared: ReadonlySet<string>;
}

/**
 * Decides which expressions of a module can be left out unnoticed: evaluating them changes nothing, and calls only
 * schema libraries. If this is uncertain, an expression is impure.
 */
export class Purity {
  readonly #names: Names;
  /** Results for the values of constants: each value is examined once, however often others name it. */
  readonly #schemas = new Map<string, boolean>();
  readonly #primitives = new Map<string, boolean>();
  readonly #spreads = new Map<string, boolean>();

  constructor(program: Program) {
    this.#names = namesOf(program);
  }

  /** The value of a constant at the top level. */
  constant(name: string): Expression | undefined {
    return this.#names.constants.get(name);
  }

  /** Whether an expression is pure, and calls a schema library. */
  isSchemaCall(node: Expression): boolean {
    return node.type === "CallExpression" && this.isPure(node);
  }

  isPure(node: Node, depth = 0): boolean {
    if (depth > DEPTH_MAX) return false;
    const all = (nodes: readonly (Node | null)[]): boolean =>
      nodes.every((one) => one === null || this.isPure(one, depth + 1));
    const expression = node as Expression;
    switch (expression.type) {
      case "Literal":
        return true;
      case "Identifier":
        return this.#isKnown(expression.name);
      case "TemplateLiteral":
      case "BinaryExpression":
        return this.#isPrimitive(expression, depth);
      case "UnaryExpression":
        return this.#isPrimitive(expression, depth) || (expression.operator === "!" && all([expression.argument]));
      case "LogicalExpression":
        return all([expression.left, expression.right]);
      case "ConditionalExpression":
        return all([expression.test, expression.consequent, expression.alternate]);
      case "ArrayExpression":
        return expression.elements.every((one) => this.#isPurePart(one, depth));
      case "ObjectExpression":
        return expression.properties.every((one) => {
          if (one.type === "SpreadElement") return this.#isPurePart(one, depth);
          return isPlainKey(one.key, one.computed) && this.isPure(one.value, depth + 1);
        });
      case "ArrowFunctionExpression":
      case "FunctionExpression":
        return this.#isPureFunction(expression);
      case "MemberExpression":
        return !expression.computed && this.#isSchema(expression, depth);
      case "CallExpression":
        return this.#isPureCall(expression, depth);
      default:
        return false;
    }
  }

  /** Whether the value of a constant passes a test. A constant that is defined by itself does not. */
  #isConstant(known: Map<string, boolean>, name: string, test: (value: Expression) => boolean): boolean {
    const value = this.#names.constants.get(name);
    if (value === undefined) return false;
    const found = known.get(name);
    if (found !== undefined) return found;
    known.set(name, false);
    const result = test(value);
    known.set(name, result);
    return result;
  }

  #isKnown(name: string): boolean {
    const { imports, constants, declared } = this.#names;
    return imports.has(name) || constants.has(name) || declared.has(name) || GLOBALS.has(name);
  }

  /** An element: a spread runs the iterator or the getters of its operand. */
  #isPurePart(node: Node | null, depth: number): boolean {
    if (node === null) return true;
    if (node.type !== "SpreadElement") return this.isPure(node, depth + 1);
    const { argument } = node as Node & { readonly argument: Expression };
    if (this.#isSchema(argument, depth)) return true;
    const isPlain = (value: Expression): boolean => {
      const isList = value.type === "ArrayExpression";
      const isObject = value.type === "ObjectExpression" && value.properties.every((one) => !isAccessor(one));
      return (isList || isObject) && this.isPure(value, depth + 1);
    };
    return argument.type === "Identifier" ? this.#isConstant(this.#spreads, argument.name, isPlain) : isPlain(argument);
  }

  #isPureCall(node: CallExpression, depth: number): boolean {
    const { callee, optional } = node;
    if (optional || callee.type === "Super" || !this.#isSchema(callee, depth)) return false;
    return node.arguments.every((one) => one.type !== "SpreadElement" && this.isPure(one, depth + 1));
  }

  /** Whether an expression is a schema library, one of its schemas, or a member of either. */
  #isSchema(node: Expression, depth: number): boolean {
    if (depth > DEPTH_MAX) return false;
    switch (node.type) {
      case "Identifier": {
        if (this.#names.libraries.has(node.name)) return true;
        const isSchema = (value: Expression): boolean =>
          value.type !== "Identifier" && this.#isSchema(value, depth + 1);
        return this.#isConstant(this.#schemas, node.name, isSchema);
      }
      case "MemberExpression":
        if (node.computed || node.optional || node.object.type === "Super") return false;
        return node.property.type === "Identifier" && this.#isSchema(node.object, depth + 1);
      case "CallExpression":
        return this.#isPureCall(node, depth + 1);
      default:
        return false;
    }
  }

  /** Values whose conversion to text or to a number calls no function. */
  #isPrimitive(node: Node, depth: number): boolean {
    if (depth > DEPTH_MAX) return false;
    const expression = node as Expression;
    switch (expression.type) {
      case "Literal":
        return !("regex" in expression) || expression.regex === undefined;
      case "Identifier": {
        if (GLOBALS.has(expression.name)) return true;
        return this.#isConstant(this.#primitives, expression.name, (value) => this.#isPrimitive(value, depth + 1));
      }
      case "TemplateLiteral":
        return expression.expressions.every((one) => this.#isPrimitive(one, depth + 1));
      case "UnaryExpression":
        return expression.operator !== "delete" && this.#isPrimitive(expression.argument, depth + 1);
      case "BinaryExpression":
        if (expression.operator === "in" || expression.operator === "instanceof") return false;
        return [expression.left, expression.right].every((one) => this.#isPrimitive(one, depth + 1));
      default:
        return false;
    }
  }

  /** A library may call a function while it makes the schema: so that function, too, may change nothing. */
  #isPureFunction(node: ArrowFunctionExpression | FunctionExpression): boolean {
    const own = new Set<string>();
    for (const parameter of node.params) addNames(parameter, own);
    return everyNode(node.body, (one) => {
      if (FORBIDDEN.has(one.type)) return false;
      if (one.type === "UnaryExpression") return (one as Expression & { operator: string }).operator !== "delete";
      if (one.type !== "CallExpression") return true;
      const { callee } = one as CallExpression;
      const root = rootOf(callee);
      return (
        root !== undefined &&
        (own.has(root) || this.#names.libraries.has(root) || this.#isSchema(callee as Expression, 0))
      );
    });
  }
}

const FORBIDDEN: ReadonlySet<string> = new Set([
  "AssignmentExpression",
  "UpdateExpression",
  "AwaitExpression",
  "YieldExpression",
  "NewExpression",
  "TaggedTemplateExpression",
  "ImportExpression",
  "ThisExpression",
  "Super",
  "MetaProperty",
  "ClassExpression",
  "ClassDeclaration",
  "ThrowStatement",
  "ForStatement",
  "ForInStatement",
  "ForOfStatement",
  "WhileStatement",
  "DoWhileStatement",
  "SpreadElement",
]);

/** The name at the beginning of a chain of members and calls. */
function rootOf(node: Node): string | undefined {
  for (let at: Node = node; ;) {
    const expression = at as Expression;
    if (expression.type === "Identifier") return expression.name;
    if (expression.type === "MemberExpression") at = expression.object;
    else if (expression.type === "CallExpression") at = expression.callee;
    else return undefined;
  }
}

function isAccessor(node: Node): boolean {
  return node.type !== "Property" || (node as Node & { readonly kind: string }).kind !== "init";
}

/** Whether a key is a name: `__proto__` sets the prototype, and a computed key may call a function. */
export function isPlainKey(key: Node, computed: boolean): boolean {
  if (computed) return false;
  const name = keyName(key);
  return name !== undefined && name !== "__proto__";
}

export function keyName(key: Node): string | undefined {
  const { type } = key;
  if (type === "Identifier") return (key as Node & { readonly name: string }).name;
  const value: unknown = type === "Literal" ? Reflect.get(key, "value") : undefined;
  return typeof value === "string" ? value : undefined;
}

/** Whether a test succeeds for a node and all below it. */
export function everyNode(root: Node, test: (node: Node) => boolean): boolean {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== "object" || node === null) continue;
    if (Array.isArray(node)) {
      for (const one of node) open.push(one);
      continue;
    }
    if (!("type" in node)) continue;
    if (!test(node as Node)) return false;
    for (const value of Object.values(node)) if (typeof value === "object" && value !== null) open.push(value);
  }
  return true;
}

function namesOf(program: Program): Names {
  const libraries = new Set<string>();
  const imports = new Set<string>();
  const constants = new Map<string, Expression>();
  const declared = new Set<string>();
  for (const statement of program.body) {
    if (statement.type === "ImportDeclaration") {
      const isLibrary = typeof statement.source.value === "string" && isSchemaLibrary(statement.source.value);
      for (const { local } of statement.specifiers) {
        imports.add(local.name);
        if (isLibrary) libraries.add(local.name);
      }
      continue;
    }
    const found = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (found?.type === "VariableDeclaration") {
      for (const { id, init } of found.declarations) {
        if (id.type !== "Identifier" || found.kind !== "const" || init === null || init === undefined)
          addNames(id, declared);
        else constants.set(id.name, init);
      }
    } else if (found?.type === "FunctionDeclaration" || found?.type === "ClassDeclaration") declared.add(found.id.name);
  }
  return { libraries, imports, constants, declared };
}

function addNames(pattern: Pattern, names: Set<string>): void {
  everyNode(pattern, (node) => {
    if (node.type === "Identifier") names.add((node as Node & { readonly name: string }).name);
    return true;
  });
}
