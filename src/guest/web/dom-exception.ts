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

/** The error of the web platform's APIs: an `Error` distinguished by its `name`. */
export class DOMException extends Error {
  readonly #name: string;

  static {
    describeInterface(this, "DOMException");
    defineConstants(
      this,
      LEGACY_CODES.map(([constant, code]) => [constant, code] as const),
    );
  }

  constructor(message: string = "", options: string | { readonly name?: string; readonly cause?: unknown } = "Error") {
    super(`${message}`);
    if (typeof options === "object" && options !== null) {
      this.#name = `${options.name ?? "Error"}`;
      if ("cause" in options) {
        const cause = { value: options.cause, writable: true, configurable: true };
        Object.defineProperty(this, "cause", cause);
      }
    } else {
      this.#name = `${options}`;
    }
  }

  /** The error's name; `Error` until the constructor has set it, because V8 may read it while it captures the stack. */
  override get name(): string {
    return #name in this ? this.#name : "Error";
  }

  /** The legacy code, compared with the constants; 0 for a name without one. */
  get code(): number {
    const { name } = this;
    return LEGACY_CODES.find((legacy) => legacy[2] === name && name !== "")?.[1] ?? 0;
  }
}
