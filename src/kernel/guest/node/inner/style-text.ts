import { checkString, nodeError } from "./errors.ts";

/** `util.styleText`, with the codes of a terminal for its formats. */

type Codes = readonly [open: string, close: string];

const NUMBERS: { readonly [name: string]: readonly [number, number] } = {
  reset: [0, 0],
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  blink: [5, 25],
  inverse: [7, 27],
  hidden: [8, 28],
  strikethrough: [9, 29],
  doubleunderline: [21, 24],
  framed: [51, 54],
  overlined: [53, 55],
};
const COLOR_NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const ALIASES: { readonly [name: string]: string } = {
  gray: "blackBright",
  grey: "blackBright",
  bgGray: "bgBlackBright",
  bgGrey: "bgBlackBright",
  conceal: "hidden",
  faint: "dim",
  crossedout: "strikethrough",
  strikeThrough: "strikethrough",
  crossedOut: "strikethrough",
  blackBG: "bgBlack",
  swapcolors: "inverse",
  swapColors: "inverse",
  doubleUnderline: "doubleunderline",
};

function numbersOf(name: string): readonly [number, number] | undefined {
  const known = Object.hasOwn(NUMBERS, name) ? NUMBERS[name] : undefined;
  if (known !== undefined) return known;
  const plain = Object.hasOwn(ALIASES, name) ? (ALIASES[name] ?? name) : name;
  if (plain !== name) return numbersOf(plain);
  const isBack = /^bg[A-Z]/.test(plain);
  const color = isBack ? plain.slice(2, 3).toLowerCase() + plain.slice(3) : plain;
  const isBright = color.endsWith("Bright");
  const at = COLOR_NAMES.indexOf(isBright ? color.slice(0, -6) : color);
  if (at < 0) return undefined;
  return [(isBright ? 90 : 30) + at + (isBack ? 10 : 0), isBack ? 49 : 39];
}

const HEX = /^#(?:[\da-f]{3}|[\da-f]{6})$/i;

function codesOf(name: unknown): Codes {
  if (typeof name === "string" && HEX.test(name)) {
    const digits = name.length === 4 ? name.slice(1).replaceAll(/./g, "$&$&") : name.slice(1);
    const [red, green, blue] = (digits.match(/../g) ?? []).map((part) => Number.parseInt(part, 16));
    return [`38;2;${red};${green};${blue}`, "39"];
  }
  const numbers = typeof name === "string" ? numbersOf(name) : undefined;
  if (numbers !== undefined) return [String(numbers[0]), String(numbers[1])];
  const shown = typeof name === "string" ? `'${name}'` : String(name as string);
  const reason =
    typeof name === "string" && name.startsWith("#") ? "must be a valid hex color" : "must be one of the formats";
  throw nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'format' ${reason}. Received ${shown}`);
}

/** Its third argument, options of a stream, has no effect: an isolate has no terminal. */
export function styleText(format: unknown, text: unknown): string {
  checkString(text, "text");
  const codes = [format].flat().flatMap((name) => (name === "none" ? [] : [codesOf(name)]));
  let result = text;
  for (const [open, close] of codes.toReversed()) {
    // The end of an inner style begins this one again.
    const again = close === "22" ? `\u001B[22m\u001B[${open}m` : `\u001B[${open}m`;
    result = `\u001B[${open}m${result.replaceAll(`\u001B[${close}m`, again)}\u001B[${close}m`;
  }
  return result;
}
