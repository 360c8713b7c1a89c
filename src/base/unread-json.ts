/** JSON of a member that has not been parsed. */
export interface UnreadJson {
  readonly json: string;
  /** Number of blanks between its tokens. */
  readonly blanks: number;
  /** The JSON in parts, where it came so: to read `json` joins them. */
  readonly parts?: readonly string[];
}

const unread = new WeakMap<object, UnreadJson>();

/**
 * Makes a member of an object one that is parsed when it is read first, and then is a member like all others: copies,
 * `JSON.stringify` and `structuredClone` read it. `given` is proved to be JSON. Returns the object.
 */
export function parseWhenRead<Target extends object>(
  target: Target,
  name: keyof Target & string,
  given: UnreadJson,
): Target {
  let parsed: { readonly value: unknown } | null = null;
  const become = (value: unknown): unknown => {
    parsed = { value };
    unread.delete(target);
    // Fails where the caller has frozen the object, which then keeps its getter.
    Reflect.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
    return value;
  };
  Object.defineProperty(target, name, {
    get: () => (parsed === null ? become(JSON.parse(given.json)) : parsed.value),
    set: become,
    enumerable: true,
    configurable: true,
  });
  unread.set(target, given);
  return target;
}

/** The text of a member in parts that are not joined. */
export function partsOf({ json, parts = [json] }: UnreadJson): readonly string[] {
  return parts;
}

/** The member that has not been read yet; `undefined` if all of it was read. */
export function unreadJson(target: object): UnreadJson | undefined {
  return unread.get(target);
}
