/** One entry of an `Accept` header, but for its parameters: `type/subtype;…;q=0.5`. */
const RANGE = /^\s*([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)\s*(;.*)?$/;
const QUALITY = /;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i;
/** Commas within quotes separate nothing. */
const ENTRY = /(?:[^,"]|"(?:\\.|[^"\\])*(?:"|$))+/g;

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
}

/** How well a type is wanted. `closeness` says how exactly it was named: 2 by its name, 1 by its kind, 0 with all others. */
interface Wish {
  readonly quality: number;
  readonly closeness: number;
}

/**
 * Which of the types that are offered the sender of an `Accept` header wants most; `null` where it wants none. The first
 * one is the default. Where two are wanted alike, the one that was named goes before one that would do, and else the
 * one that is offered first.
 */
export function chooseType<Type extends string>(accept: string | undefined, offered: readonly Type[]): Type | null {
  if (accept === undefined || accept.trim() === "") return offered[0] ?? null;
  const ranges = (accept.match(ENTRY) ?? []).flatMap(readRange);
  let best: Type | null = null;
  let most: Wish = { quality: 0, closeness: 0 };
  for (const type of offered) {
    const wish = wishFor(type, ranges);
    if (wish.quality > most.quality || (wish.quality === most.quality && wish.closeness > most.closeness)) {
      if (wish.quality === 0) continue;
      best = type;
      most = wish;
    }
  }
  return best;
}

function readRange(entry: string): Range[] {
  const [whole, type, subtype, parameters = ""] = RANGE.exec(entry) ?? [];
  if (whole === undefined || type === undefined || subtype === undefined) return [];
  const quality = Number(QUALITY.exec(parameters)?.[1] ?? 1);
  return [{ type: type.toLowerCase(), subtype: subtype.toLowerCase(), quality }];
}

/** What the closest range says of a type: another one of the same closeness may only want it more. */
function wishFor(offered: string, ranges: readonly Range[]): Wish {
  const [type, subtype] = offered.split("/");
  let wish: Wish = { quality: 0, closeness: -1 };
  for (const range of ranges) {
    const closeness = closenessOf(range, type, subtype);
    const isCloser = closeness > wish.closeness;
    const isMore = closeness === wish.closeness && range.quality > wish.quality;
    if (closeness >= 0 && (isCloser || isMore)) wish = { quality: range.quality, closeness };
  }
  return wish;
}

function closenessOf(range: Range, type: string | undefined, subtype: string | undefined): number {
  if (range.type === "*" && range.subtype === "*") return 0;
  if (range.type !== type) return -1;
  return range.subtype === subtype ? 2 : range.subtype === "*" ? 1 : -1;
}
