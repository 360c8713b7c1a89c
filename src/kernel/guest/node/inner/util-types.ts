/** `util.types`: the kind of an object, independent of its prototype. */

const { toString } = Object.prototype;
const TYPED_TAG = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  Symbol.toStringTag,
)?.get;

function tagged(...tags: readonly string[]): (value: unknown) => boolean {
  return (value) => typeof value === "object" && value !== null && tags.includes(toString.call(value).slice(8, -1));
}

/** Whether a method of a class, which only its objects have the state for, can be called on a value. */
function answers(method: (...args: never[]) => unknown, ...args: readonly unknown[]): (value: unknown) => boolean {
  return (value) => {
    if (typeof value !== "object" || value === null) return false;
    try {
      Reflect.apply(method, value, args);
      return true;
    } catch {
      return false;
    }
  };
}

function getterOf(prototype: object, name: string): (...args: never[]) => unknown {
  return (
    Object.getOwnPropertyDescriptor(prototype, name)?.get ??
    ((): never => {
      throw new TypeError();
    })
  );
}

const typed = (value: unknown): string | undefined =>
  ArrayBuffer.isView(value) && TYPED_TAG !== undefined
    ? (Reflect.apply(TYPED_TAG, value, []) as string | undefined)
    : undefined;
const isTyped = (name: string) => (value: unknown) => typed(value) === name;

const AsyncFunction = Object.getPrototypeOf(async () => undefined) as object;
const GeneratorFunction = Object.getPrototypeOf(function* () {}) as object;
const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}) as object;
const inherits = (value: unknown, ...prototypes: readonly object[]): boolean =>
  typeof value === "function" && prototypes.some((prototype) => prototype.isPrototypeOf(value));

const isDate = answers(Date.prototype.getTime);
const isMap = answers(getterOf(Map.prototype, "size"));
const isSet = answers(getterOf(Set.prototype, "size"));
const isArrayBuffer = answers(getterOf(ArrayBuffer.prototype, "byteLength"));
const boxed = [
  Number.prototype.valueOf,
  String.prototype.valueOf,
  Boolean.prototype.valueOf,
  Symbol.prototype.valueOf,
  BigInt.prototype.valueOf,
].map((method) => answers(method));

export const types: { [name: string]: (value: unknown) => boolean } = {
  isDate,
  isMap,
  isSet,
  isArrayBuffer,
  isAnyArrayBuffer: isArrayBuffer,
  isSharedArrayBuffer: () => false,
  isWeakMap: answers(WeakMap.prototype.has, {}),
  isWeakSet: answers(WeakSet.prototype.has, {}),
  isRegExp: answers(getterOf(RegExp.prototype, "source")),
  isPromise: (value) => value instanceof Promise,
  isNativeError: (value) =>
    typeof value === "object" &&
    value !== null &&
    (Error as { isError?: (value: unknown) => boolean }).isError?.(value) === true,
  isProxy: () => false,
  isArgumentsObject: tagged("Arguments"),
  isGeneratorObject: tagged("Generator", "AsyncGenerator"),
  isMapIterator: tagged("Map Iterator"),
  isSetIterator: tagged("Set Iterator"),
  isModuleNamespaceObject: tagged("Module"),
  isAsyncFunction: (value) => inherits(value, AsyncFunction, AsyncGeneratorFunction),
  isGeneratorFunction: (value) => inherits(value, GeneratorFunction, AsyncGeneratorFunction),
  isNumberObject: boxed[0] ?? (() => false),
  isStringObject: boxed[1] ?? (() => false),
  isBooleanObject: boxed[2] ?? (() => false),
  isSymbolObject: boxed[3] ?? (() => false),
  isBigIntObject: boxed[4] ?? (() => false),
  isBoxedPrimitive: (value) => boxed.some((is) => is(value)),
  isExternal: () => false,
  isCryptoKey: tagged("CryptoKey"),
  isKeyObject: (value) =>
    typeof value === "object" && value !== null && Reflect.get(value, Symbol.for("glovebox.KeyObject")) === true,
  isEventTarget: tagged("EventTarget", "AbortSignal"),
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isDataView: (value) => ArrayBuffer.isView(value) && typed(value) === undefined,
  isTypedArray: (value) => typed(value) !== undefined,
  isUint8Array: isTyped("Uint8Array"),
  isUint8ClampedArray: isTyped("Uint8ClampedArray"),
  isUint16Array: isTyped("Uint16Array"),
  isUint32Array: isTyped("Uint32Array"),
  isInt8Array: isTyped("Int8Array"),
  isInt16Array: isTyped("Int16Array"),
  isInt32Array: isTyped("Int32Array"),
  isFloat16Array: isTyped("Float16Array"),
  isFloat32Array: isTyped("Float32Array"),
  isFloat64Array: isTyped("Float64Array"),
  isBigInt64Array: isTyped("BigInt64Array"),
  isBigUint64Array: isTyped("BigUint64Array"),
};
