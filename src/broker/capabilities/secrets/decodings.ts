/** One possible decoding at a position of a text: the decoded bytes, and the end of their encoding. */
export interface DecodedBytes {
  readonly bytes: readonly number[];
  readonly end: number;
}

/** All decodings at a position, and whether more text could add another. */
export interface Decodings {
  readonly found: readonly DecodedBytes[];
  readonly isUnfinished: boolean;
}

const [LF, CR, PERCENT, AMPERSAND, PLUS, SPACE, BACKSLASH] = [10, 13, 0x25, 0x26, 0x2b, 0x20, 0x5c];
/** Maximum number of backslashes for one: JSON nested four times writes 16. */
const BACKSLASHES_MAX = 16;
/** Maximum number of repeated encodings: `%2B`, `%252B`, `%25252B`. */
const AGAIN_MAX = 3;
/** Longer than any single encoded character. */
const WINDOW = 48;

const HEX = "[0-9A-Fa-f]";
const CODE = new RegExp(`^(?:u(?<unit>${HEX}{4})|u\\{0{0,4}(?<point>${HEX}{1,6})\\}|x(?<byte>${HEX}{2}))`);
const LOW = new RegExp(`^\\\\{1,${BACKSLASHES_MAX}}u(${HEX}{4})`);
const PERCENT_CODE = new RegExp(`^${HEX}{2}`);
const ENTITY = /^(?:#0{0,8}(\d{1,7});|#[xX]0{0,8}([0-9A-Fa-f]{1,6});|(amp|lt|gt|quot|apos|sol|bsol|plus|equals);)/;
/** Prefixes of these that more text could complete. */
const CODE_BEGUN = /^(?:u(?:[0-9A-Fa-f]{0,3}|\{[0-9A-Fa-f]{0,10})|x[0-9A-Fa-f]?)?$/;
const ENTITY_BEGUN = /^(?:#\d{0,15}|#[xX][0-9A-Fa-f]{0,14}|[a-z]{0,6})$/;
const LOW_BEGUN = /^\\{0,16}(?:u[0-9A-Fa-f]{0,3})?$/;

const ESCAPED: ReadonlyMap<string, number> = new Map([
  ["b", 8],
  ["t", 9],
  ["n", LF],
  ["f", 12],
  ["r", CR],
]);
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["sol", "/"],
  ["bsol", "\\"],
  ["plus", "+"],
  ["equals", "="],
]);

/** Whether a byte can be decoded otherwise than as itself. */
export function isSpecial(byte: number): boolean {
  return byte === BACKSLASH || byte === PERCENT || byte === AMPERSAND || byte === PLUS || byte === 0 || isBreak(byte);
}

/** Whether a byte ends a line. Line ends differ between formats. */
export function isBreak(byte: number): boolean {
  return byte === LF || byte === CR;
}

/** All decodings at a position. The text holds one byte per character. */
export function decodingsAt(text: string, at: number): Decodings {
  const byte = text.charCodeAt(at);
  const found: DecodedBytes[] = [{ bytes: [byte], end: at + 1 }];
  let isUnfinished = false;
  if (byte === PLUS) found.push({ bytes: [SPACE], end: at + 1 });
  else if (byte === BACKSLASH) isUnfinished = readBackslashes(text, at, found);
  else if (byte === PERCENT) isUnfinished = readPercent(text, at, found);
  else if (byte === AMPERSAND) isUnfinished = readEntity(text, at, found);
  return { found, isUnfinished };
}

function readBackslashes(text: string, at: number, found: DecodedBytes[]): boolean {
  let end = at + 1;
  while (end - at < BACKSLASHES_MAX && text.charCodeAt(end) === BACKSLASH)
    found.push({ bytes: [BACKSLASH], end: ++end });
  const after = text.slice(end, end + WINDOW);
  const groups = CODE.exec(after)?.groups;
  if (groups !== undefined) {
    const { unit, point, byte } = groups;
    const code = Number.parseInt(unit ?? point ?? byte ?? "", 16);
    const codeEnd = end + (CODE.exec(after)?.[0].length ?? 0);
    if (unit === undefined || (code & 0xfc00) !== 0xd800) {
      found.push({ bytes: bytesOf(code), end: codeEnd });
      return false;
    }
    const rest = text.slice(codeEnd, codeEnd + WINDOW);
    const low = LOW.exec(rest);
    if (low !== null) {
      const whole = 0x10000 + ((code & 0x3ff) << 10) + (Number.parseInt(low[1] ?? "", 16) & 0x3ff);
      found.push({ bytes: bytesOf(whole), end: codeEnd + low[0].length });
    }
    return low === null && LOW_BEGUN.test(rest);
  }
  const [letter = ""] = after;
  const escaped = ESCAPED.get(letter) ?? (/^[!-/:-@[-`{-~]/.test(letter) ? letter.charCodeAt(0) : null);
  if (escaped !== null) found.push({ bytes: [escaped], end: end + 1 });
  return after.length < WINDOW && CODE_BEGUN.test(after);
}

function readPercent(text: string, at: number, found: DecodedBytes[]): boolean {
  let digits = at + 1;
  for (let again = 0; again <= AGAIN_MAX; again++) {
    const code = PERCENT_CODE.exec(text.slice(digits, digits + 2))?.[0];
    if (code === undefined) break;
    found.push({ bytes: [Number.parseInt(code, 16)], end: digits + 2 });
    if (code !== "25") return false;
    digits += 2;
  }
  return text.length < digits + 2;
}

function readEntity(text: string, at: number, found: DecodedBytes[]): boolean {
  let from = at + 1;
  for (let again = 0; again <= AGAIN_MAX; again++) {
    const after = text.slice(from, from + WINDOW);
    const [whole, decimal, hex, name] = ENTITY.exec(after) ?? [];
    if (whole === undefined) return after.length < WINDOW && ENTITY_BEGUN.test(after);
    const code = decimal !== undefined ? Number(decimal) : Number.parseInt(hex ?? "", 16);
    const bytes = name === undefined ? bytesOf(code) : [...Buffer.from(ENTITIES.get(name) ?? "")];
    from += whole.length;
    found.push({ bytes, end: from });
    if (name !== "amp") return false;
  }
  return false;
}

function bytesOf(code: number): readonly number[] {
  if (code < 0x80) return [code];
  return code > 0x10ffff ? [] : [...Buffer.from(String.fromCodePoint(code))];
}
