import { defineConstants, describeInterface } from "./web-interface.ts";

/** Legacy constants with their codes, and the error name of each code that the standard still defines. */
const LEGACY_CODES: readonly (readonly [constant: string, code: number, name: string])[] = [
  ["INDEX_SIZE_ERR", 1, "IndexSizeError"],
  ["DOMSTRING_SIZE_ERR", 2, ""],
  ["HIERARCHY_REQUEST_ERR", 3, "HierarchyRequestError"],
  ["WRONG_DOCUMENT_ERR", 4, "WrongDocumentError"],
  ["INVALID_CHARACTER_ERR", 5, "InvalidCharacterError"],
  ["NO_DATA_ALLOWED_ERR", 6, ""],
  ["NO_MODIFICATION_ALLOWED_ERR", 7, "NoModificationAllowedError"],
  ["NOT_FOUND_ERR", 8, "NotFoundError"],
  ["NOT_SUPPORTED_ERR", 9, "NotSupportedError"],
  ["INUSE_ATTRIBUTE_ERR", 10, "InUseAttributeError"],
  ["INVALID_STATE_ERR", 11, "InvalidStateError"],
  ["SYNTAX_ERR", 12, "SyntaxError"],
  ["INVALID_MODIFICATION_ERR", 13, "InvalidModificationError"],
  ["NAMESPACE_ERR", 14, "NamespaceError"],
  ["INVALID_ACCESS_ERR", 15, "InvalidAccessError"],
  ["VALIDATION_ERR", 16, ""],
  ["TYPE_MISMATCH_ERR", 17, "TypeMismatchError"],
  ["SECURITY_ERR", 18, "SecurityError"],
  ["NETWORK_ERR", 19, "NetworkError"],
  ["ABORT_ERR", 20, "AbortError"],
  ["URL_MISMATCH_ERR", 21, "URLMismatchError"],
  ["QUOTA_EXCEEDED_ERR", 22, "QuotaExceededError"],
  ["TIMEOUT_ERR", 23, "TimeoutError"],
  ["INVALID_NODE_TYPE_ERR", 24, "InvalidNodeTypeError"],
  ["DATA_CLONE_ERR", 25, "DataCloneError"],
];

interface Title {
  readonly name: string;
  readonly message: string;
}

/** Of the exception that is being made: V8 may read its name and message while it captures the stack. */
let beingMade: Title | null = null;

/** The error of the web platform's APIs: an `Error` distinguished by its `name`. */
export class DOMException extends Error {
  readonly #title: Title;

  static {
    describeInterface(this, "DOMException");
    defineConstants(
      this,
      LEGACY_CODES.map(([constant, code]) => [constant, code] as const),
    );
  }

  constructor(message: string = "", options: string | { readonly name?: string; readonly cause?: unknown } = "Error") {
    const text = `${message}`;
    const isDictionary = typeof options === "object" && options !== null;
    const title = { message: text, name: isDictionary ? `${options.name ?? "Error"}` : `${options}` };
    beingMade = title;
    try {
      super(text);
    } finally {
      beingMade = null;
    }
    this.#title = title;
    // The stack has it now, and the prototype's is the standard's.
    Reflect.deleteProperty(this, "message");
    if (isDictionary && "cause" in options) {
      Object.defineProperty(this, "cause", { value: options.cause, writable: true, configurable: true });
    }
  }

  override get name(): string {
    return (#title in this ? this.#title : titleOf(this)).name;
  }

  override get message(): string {
    return (#title in this ? this.#title : titleOf(this)).message;
  }

  /** The legacy code, compared with the constants; 0 for a name without one. */
  get code(): number {
    const { name } = this.#title;
    return LEGACY_CODES.find((legacy) => legacy[2] === name && name !== "")?.[1] ?? 0;
  }
}

/** Called for a member of an object that is no exception, or none yet. */
function titleOf(object: object): Title {
  if (beingMade !== null && object instanceof DOMException) return beingMade;
  throw new TypeError("Illegal invocation: not a DOMException");
}

/** The exception for exceeded quotas, with the amounts if known. */
export class QuotaExceededError extends DOMException {
  readonly #quota: number | null;
  readonly #requested: number | null;

  static {
    describeInterface(this, "QuotaExceededError");
  }

  constructor(message: string = "", options: { readonly quota?: number; readonly requested?: number } | null = null) {
    super(message, "QuotaExceededError");
    this.#quota = readAmount(options?.quota);
    this.#requested = readAmount(options?.requested);
    if (this.#quota !== null && this.#requested !== null && this.#requested < this.#quota) {
      throw new RangeError("requested is less than the quota");
    }
  }

  get quota(): number | null {
    return this.#quota;
  }

  get requested(): number | null {
    return this.#requested;
  }
}

function readAmount(given: unknown): number | null {
  if (given === undefined) return null;
  const amount = Number(given);
  if (!Number.isFinite(amount)) throw new TypeError("A quota has to be a finite number");
  if (amount < 0) throw new RangeError("A quota is 0 at least");
  return amount;
}
