import { isArrayBuffer } from "./buffer-source.ts";
import { DOMException } from "./dom-exception.ts";

/** The function that `createStructuredClone` returns. */
export type StructuredClone = <T>(value: T, options?: { readonly transfer?: Iterable<object> }) => T;

type AnyClass = { readonly prototype: object };

/** Errors that keep their class; any other error becomes a plain `Error`. */
const ERROR_CLASSES = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError] as const;

/** Cloning rules for objects of the web's classes. Parts of the realm that are created later add theirs. */
export class CloneRules {
  readonly #refused: AnyClass[] = [];
  readonly #copiers: ((value: object) => object | undefined)[] = [];

  /** Refuses instances of classes that cannot be copied faithfully. */
  refuse(...classes: readonly AnyClass[]): void {
    this.#refused.push(...classes);
  }

  /** Adds a function that copies an object, and returns `undefined` for objects of other classes. */
  copy(copier: (value: object) => object | undefined): void {
    this.#copiers.push(copier);
  }

  isRefused(value: object): boolean {
    return this.#refused.some(({ prototype }) => Object.prototype.isPrototypeOf.call(prototype, value));
  }

  copyOf(value: object): object | undefined {
    for (const copier of this.#copiers) {
      const copy = copier(value);
      if (copy !== undefined) return copy;
    }
    return undefined;
  }
}

/** Creates `structuredClone`. `detach`: detaches a buffer, which loses its bytes. */
export function createStructuredClone(rules: CloneRules, detach: (buffer: ArrayBuffer) => void): StructuredClone {
  return function structuredClone<T>(value: T, ...[options]: [options?: { readonly transfer?: Iterable<object> }]): T {
    if (arguments.length === 0) throw new TypeError("structuredClone needs a value");
    const transfer = readTransfer(options?.transfer ?? []);
    const cloner = new Cloner(rules);
    const copies = transfer.map((buffer) => cloner.clone(buffer));
    const clone = cloner.clone(value) as T;
    // Buffers are detached only after all copies: a value that cannot be cloned leaves its buffers unchanged.
    if (copies.length > 0) for (const buffer of transfer) transferAway(buffer, detach);
    return clone;
  };
}

/** The memory of WebAssembly cannot be detached. */
function transferAway(buffer: ArrayBuffer, detach: (buffer: ArrayBuffer) => void): void {
  try {
    detach(buffer);
  } catch {
    throw new DOMException("An ArrayBuffer could not be transferred", "DataCloneError");
  }
}

/** One run of the algorithm: it records clones, so that references stay shared and cycles end. */
class Cloner {
  readonly #clones = new Map<object, object>();
  readonly #rules: CloneRules;

  constructor(rules: CloneRules) {
    this.#rules = rules;
  }

  clone(value: unknown): unknown {
    if (typeof value === "symbol" || typeof value === "function") throw refuse(value);
    if (typeof value !== "object" || value === null) return value;
    const known = this.#clones.get(value);
    if (known !== undefined) return known;
    if (Array.isArray(value)) return this.#cloneProperties(value, this.#remember(value, emptyArray(value.length)));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      return this.#cloneProperties(value, this.#remember(value, {}));
    }
    return this.#clonePlatformObject(value);
  }

  #remember<T extends object>(value: object, clone: T): T {
    this.#clones.set(value, clone);
    return clone;
  }

  /** An object that only inherits from a built-in class, without being a real instance, is a plain object. */
  #clonePlatformObject(value: object): object {
    if (ArrayBuffer.isView(value)) return this.#cloneView(value);
    if (value instanceof Map && isKind(() => Map.prototype.has.call(value, undefined))) return this.#cloneMap(value);
    if (value instanceof Set && isKind(() => Set.prototype.has.call(value, undefined))) return this.#cloneSet(value);
    if (value instanceof ArrayBuffer && isArrayBuffer(value)) return this.#remember(value, copyBuffer(value));
    if (Error.isError(value)) return this.#cloneError(value);
    const simple = cloneDate(value) ?? cloneRegExp(value) ?? cloneBoxed(value) ?? this.#rules.copyOf(value);
    if (simple !== undefined) return this.#remember(value, simple);
    if (isUnclonable(value) || this.#rules.isRefused(value)) throw refuse(value);
    return this.#cloneProperties(value, this.#remember(value, {}));
  }

  #cloneProperties<T extends object>(value: object, clone: T): T {
    for (const key of Object.keys(value)) {
      // A getter may have deleted the property since the keys were read.
      if (Object.hasOwn(value, key)) define(clone, key, this.clone(Reflect.get(value, key)));
    }
    return clone;
  }

  #cloneMap(value: Map<unknown, unknown>): Map<unknown, unknown> {
    const clone = this.#remember(value, new Map<unknown, unknown>());
    const entries = [...Map.prototype.entries.call(value)] as [unknown, unknown][];
    for (const [key, item] of entries) clone.set(this.clone(key), this.clone(item));
    return clone;
  }

  #cloneSet(value: Set<unknown>): Set<unknown> {
    const clone = this.#remember(value, new Set<unknown>());
    for (const item of [...Set.prototype.values.call(value)] as unknown[]) clone.add(this.clone(item));
    return clone;
  }

  #cloneView(view: ArrayBufferView): object {
    const { buffer, byteOffset, byteLength } = view;
    const copy = this.clone(buffer) as ArrayBuffer;
    const name: unknown = Reflect.get(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag, view);
    const ViewClass = viewClasses().find((candidate) => candidate.name === name);
    if (ViewClass === undefined) return this.#remember(view, new DataView(copy, byteOffset, byteLength));
    const length = byteLength / ViewClass.BYTES_PER_ELEMENT;
    return this.#remember(view, new ViewClass(copy, byteOffset, length));
  }

  #cloneError(value: Error): Error {
    if (value instanceof DOMException) {
      const copy = this.#remember(value, new DOMException(value.message, value.name));
      defineHidden(copy, "stack", String(value.stack));
      return copy;
    }
    const name = `${value.name}`;
    const message = Object.getOwnPropertyDescriptor(value, "message");
    const text = message !== undefined && "value" in message ? [`${message.value as string}`] : [];
    const ErrorClass = ERROR_CLASSES.find((candidate) => candidate.name === name) ?? Error;
    const clone = this.#remember(value, new ErrorClass(...text));
    const stack: unknown = value.stack;
    defineHidden(clone, "stack", typeof stack === "string" ? stack : undefined);
    if (Object.hasOwn(value, "cause")) defineHidden(clone, "cause", this.clone(value.cause));
    return clone;
  }
}

/** The classes of typed arrays, found by name. */
function viewClasses() {
  return [
    Uint8Array,
    Int8Array,
    Uint8ClampedArray,
    Uint16Array,
    Int16Array,
    Uint32Array,
    Int32Array,
    Float16Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
  ];
}

/** Methods of built-in classes throw for any object that is not a real instance. */
function isKind(check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

function cloneDate(value: object): Date | undefined {
  if (!(value instanceof Date) || !isKind(() => Date.prototype.getTime.call(value))) return undefined;
  return new Date(Date.prototype.getTime.call(value));
}

function cloneRegExp(value: object): RegExp | undefined {
  if (!(value instanceof RegExp)) return undefined;
  // The getter returns no boolean for the prototype itself, and throws for any other object.
  const isReal = isKind(() => typeof Reflect.get(RegExp.prototype, "global", value) === "boolean");
  return isReal ? new RegExp(value) : undefined;
}

function cloneBoxed(value: object): object | undefined {
  for (const { prototype } of [Boolean, Number, String, BigInt]) {
    if (!Object.prototype.isPrototypeOf.call(prototype, value)) continue;
    const unbox = (): unknown => Reflect.apply(prototype.valueOf, value, []);
    if (isKind(unbox)) return Object(unbox()) as object;
  }
  return undefined;
}

/** Whether an object has internal state that cannot be copied. */
function isUnclonable(value: object): boolean {
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) return true;
  if (value instanceof Symbol || value instanceof Iterator) return true;
  if (typeof WeakRef === "function" && value instanceof WeakRef) return true;
  if (typeof FinalizationRegistry === "function" && value instanceof FinalizationRegistry) return true;
  return typeof SharedArrayBuffer === "function" && value instanceof SharedArrayBuffer;
}

/** An empty array of a given length, for which V8 reserves no memory. */
function emptyArray(length: number): unknown[] {
  const array: unknown[] = [];
  array.length = length;
  return array;
}

/** Assigning is faster, but would invoke inherited setters, `__proto__` first of all. */
function define(target: object, key: string, value: unknown): void {
  if (key in target) {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    Reflect.set(target, key, value);
  }
}

function defineHidden(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: false, configurable: true });
}

function copyBuffer(buffer: ArrayBuffer): ArrayBuffer {
  try {
    const bytes = new Uint8Array(buffer);
    const { resizable, maxByteLength } = buffer;
    const copy = resizable ? new ArrayBuffer(bytes.length, { maxByteLength }) : new ArrayBuffer(bytes.length);
    new Uint8Array(copy).set(bytes);
    return copy;
  } catch (error) {
    // A RangeError means that there is no memory for the copy; any other error, that the buffer is detached.
    if (error instanceof RangeError) throw error;
    throw new DOMException("An ArrayBuffer is detached and could not be cloned", "DataCloneError");
  }
}

function readTransfer(transfer: Iterable<object>): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  for (const item of transfer) {
    if (!isArrayBuffer(item)) throw new DOMException("Found invalid value in transferList", "DataCloneError");
    if (buffers.has(item)) throw new DOMException("An ArrayBuffer is listed twice", "DataCloneError");
    buffers.add(item);
  }
  return [...buffers];
}

function refuse(value: unknown): DOMException {
  return new DOMException(`${describe(value)} could not be cloned.`, "DataCloneError");
}

function describe(value: unknown): string {
  if (typeof value === "symbol") return String(value);
  if (typeof value === "function") return Function.prototype.toString.call(value).slice(0, 100);
  return "#<Object>";
}
