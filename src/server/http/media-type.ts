/** One entry of an `Accept` header: type, subtype, parameters. */
const RANGE = /^\s*([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)\s*(;.*)?$/;
const QUALITY = /;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)/i;
/** Commas within quotes do not separate entries. */
const ENTRY = /(?:[^,"]|"(?:\\.|[^"\\])*(?:"|$))+/g;

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
}

/** Preference for a type. `closeness` of the match: 2 for the exact type, 1 for any subtype, 0 for any type. */
interface Wish {
  readonly quality: number;
  readonly closeness: number;
}

/**
 * Chooses the offered type that an `Accept` header prefers: by quality, then closeness of the match, then order of the
 * offer. The first is the default; `null` if none is acceptable.
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

/** Preference for a type by its closest range; among equally close ones, the highest quality. */
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
