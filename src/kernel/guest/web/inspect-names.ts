/** Names of values, found in their prototypes without running any code of the values. */

/** A longer prototype chain was made by a proxy. */
const CHAIN_MAX = 1_000;

/** A property's value, own or inherited; `undefined` also if it would need a getter. */
export function readQuietly(object: object, key: PropertyKey): unknown {
  let holder: object | null = object;
  for (let step = 0; holder !== null && step < CHAIN_MAX; step += 1) {
    const property = Object.getOwnPropertyDescriptor(holder, key);
    if (property !== undefined) return readProperty(object, holder, key, property);
    holder = Object.getPrototypeOf(holder) as object | null;
  }
  return undefined;
}

/**
 * In a hardened realm, some properties of built-in prototypes are accessors, so that objects can override what they
 * inherit. Unlike getters of other code, they are on a prototype and not configurable.
 */
function readProperty(object: object, holder: object, key: PropertyKey, property: PropertyDescriptor): unknown {
  if (property.get === undefined) return property.value;
  return holder !== object && property.configurable === false ? Reflect.get(holder, key, object) : undefined;
}

/** A function's own name if it is a string, else empty. */
function functionName(callee: object): string {
  const name: unknown = Object.getOwnPropertyDescriptor(callee, "name")?.value;
  return typeof name === "string" ? name : "";
}

/** The name of an object's class; `null` if its prototype is `null`. */
export function constructorName(value: object): string | null {
  let holder: object | null = value;
  for (let step = 0; holder !== null && step < CHAIN_MAX; step += 1) {
    const property = Object.getOwnPropertyDescriptor(holder, "constructor");
    const constructor = property === undefined ? undefined : readProperty(value, holder, "constructor", property);
    if (typeof constructor === "function" && isInstance(value, constructor)) {
      const name = functionName(constructor);
      if (name !== "") return name;
    }
    holder = Object.getPrototypeOf(holder) as object | null;
  }
  return Object.getPrototypeOf(value) === null ? null : "Object <Complex prototype>";
}

function isInstance(value: object, constructor: object): boolean {
  const prototype: unknown = Object.getOwnPropertyDescriptor(constructor, "prototype")?.value;
  if (typeof prototype !== "object" || prototype === null) return prototype !== undefined;
  return Object.prototype.isPrototypeOf.call(prototype, value);
}

/** The `Symbol.toStringTag` of an object if it differs from its class's name, else empty. */
export function tagOf(value: object, className: string | null): string {
  const tag = readQuietly(value, Symbol.toStringTag);
  return typeof tag === "string" &&
    tag !== className &&
    !Object.prototype.propertyIsEnumerable.call(value, Symbol.toStringTag)
    ? tag
    : "";
}

/** Text before the bracket: class, size and tag. */
export function prefixOf(className: string | null, tag: string, fallback: string, size: string): string {
  if (className === null) {
    const nullPrototype = `[${fallback}${size}: null prototype]`;
    return tag !== "" && tag !== fallback ? `${nullPrototype} [${tag}] ` : `${nullPrototype} `;
  }
  return tag === "" ? `${className}${size} ` : `${className}${size} [${tag}] `;
}

/** `[Function: name]`, `[class X extends Y]` and the like. */
export function describeFunction(callee: object, className: string | null, tag: string): string {
  const source = Function.prototype.toString.call(callee);
  if (/^class\b/.test(source) && source.endsWith("}")) return describeClass(callee);
  const kind = /^(?:Async)?(?:Generator)?Function$/.test(className ?? "") ? (className ?? "Function") : "Function";
  const name = functionName(callee);
  const title = `${kind}${className === null ? " (null prototype)" : ""}${name === "" ? " (anonymous)" : `: ${name}`}`;
  const subclass = className !== null && className !== kind ? ` ${className}` : "";
  return `[${title}]${subclass}${tag === "" ? "" : ` [${tag}]`}`;
}

function describeClass(callee: object): string {
  const parent: unknown = Object.getPrototypeOf(callee);
  if (parent === null) return `[class ${functionName(callee) || "(anonymous)"} extends [null prototype]]`;
  const parentName = typeof parent === "function" ? functionName(parent) : "";
  return `[class ${functionName(callee) || "(anonymous)"}${parentName === "" ? "" : ` extends ${parentName}`}]`;
}
