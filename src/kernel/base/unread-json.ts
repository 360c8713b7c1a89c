import { mayHaveLongInteger, parseWithDigits } from "./exact-json.ts";

/** JSON of a member that has not been parsed. */
export interface UnreadJson {
  readonly json: string;
  /** Number of blanks between its tokens. */
  readonly blanks: number;
  /** The JSON in parts, if it arrived so: reading `json` joins them. */
  readonly parts?: readonly string[];
}

const unread = new WeakMap<object, UnreadJson>();
/** Members that were read, whose long integers are strings of digits in the value: only their text has the numbers. */
const readExact = new WeakMap<object, UnreadJson>();

/**
 * Defines a member of an object that is parsed when it is first read, and then is a member like all others: copies,
 * `JSON.stringify` and `structuredClone` read it. `given` has been proved to be JSON. `parse`: by default, long
 * integers become strings of digits. Returns the object.
 */
export function parseWhenRead<Target extends object>(
  target: Target,
  name: keyof Target & string,
  given: UnreadJson,
  parse: (json: string) => unknown = parseWithDigits,
): Target {
  let parsed: { readonly value: unknown } | null = null;
  const become = (value: unknown): unknown => {
    parsed = { value };
    unread.delete(target);
    // Fails if the caller has frozen the object, which then keeps its getter.
    Reflect.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
    return value;
  };
  Object.defineProperty(target, name, {
    get: () => {
      if (parsed !== null) return parsed.value;
      if (parse === parseWithDigits && mayHaveLongInteger(given.json)) readExact.set(target, given);
      return become(parse(given.json));
    },
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

/**
 * The member's text, in which long integers have their digits: the given text, also after the member was read, unless
 * its value was changed since. `undefined` if only the value of the member is known.
 */
export function exactJson<Target extends object>(target: Target, name: keyof Target & string): UnreadJson | undefined {
  const given = unread.get(target) ?? readExact.get(target);
  if (given === undefined || unread.has(target)) return given;
  return JSON.stringify(target[name]) === JSON.stringify(parseWithDigits(given.json)) ? given : undefined;
}
