import type { JsonKind, JsonVisitor, JsonWalk } from "./json-walk.ts";

/** Levels, members of an object, examined members and elements, and places of a whole outline. */
const DEPTH_MAX = 5;
const MEMBERS_MAX = 24;
const SAMPLED = 100;
const PLACES_MAX = 200;
const NAME_SHOWN = 48;
const PLAIN_NAME = /^[A-Za-z_$][\w$-]*$/;

/** The values at one place of a text. All elements of a list are one place. */
interface Place {
  readonly kinds: Set<JsonKind>;
  readonly members: Map<string, Place>;
  /** Whether an object has further members, which the outline omits. */
  hasMore: boolean;
  elements: Place | null;
  least: number;
  most: number;
}

/** The shape of a JSON text: names of members, lengths of lists, types of values. */
export class Outline {
  #places = 0;
  readonly #root = this.#make();
  /** Places of the open values; `null` for omitted ones. */
  readonly #open: (Place | null)[] = [];

  visitor(walker: JsonWalk): JsonVisitor {
    return {
      wantsNames: (depth) =>
        depth <= DEPTH_MAX && this.#placeAt(depth - 1) !== null && walker.countAt(depth - 1) < SAMPLED,
      begin: (kind, _at, depth) => {
        if (depth > DEPTH_MAX) return;
        const place = depth === 0 ? this.#root : this.#childOf(this.#placeAt(depth - 1), walker, depth);
        this.#open[depth] = place;
        place?.kinds.add(kind);
      },
      end: (_at, depth) => {
        const place = depth > DEPTH_MAX ? null : this.#placeAt(depth);
        if (place === null || !walker.isList(depth + 1)) return;
        const count = walker.countAt(depth);
        place.least = Math.min(place.least, count);
        place.most = Math.max(place.most, count);
      },
    };
  }

  /** The shape in words, at most about `chars` long. */
  describe(chars: number): string {
    return describe(this.#root, { left: chars });
  }

  #placeAt(depth: number): Place | null {
    return this.#open[depth] ?? null;
  }

  #make(): Place {
    this.#places++;
    return { kinds: new Set(), members: new Map(), hasMore: false, elements: null, least: Infinity, most: 0 };
  }

  #childOf(parent: Place | null, walker: JsonWalk, depth: number): Place | null {
    if (parent === null) return null;
    const isFull = this.#places >= PLACES_MAX;
    const name = walker.nameAt(depth);
    if (walker.isList(depth)) {
      if (walker.countAt(depth - 1) > SAMPLED || (isFull && parent.elements === null)) return null;
      return (parent.elements ??= this.#make());
    }
    const known = name === null ? undefined : parent.members.get(name);
    if (known !== undefined) return known;
    if (name === null || isFull || parent.members.size >= MEMBERS_MAX) {
      parent.hasMore = true;
      return null;
    }
    const place = this.#make();
    parent.members.set(name, place);
    return place;
  }
}

function describe(place: Place, room: { left: number }): string {
  const kinds = [...place.kinds].map((kind) => {
    if (kind === "list") return describeList(place, room);
    if (kind === "object") return describeObject(place, room);
    room.left -= kind.length + 2;
    return kind;
  });
  return kinds.length === 0 ? "…" : kinds.join(" or ");
}

function describeList({ elements, least, most }: Place, room: { left: number }): string {
  const length = least === most || least === Infinity ? `${most}` : `${least} to ${most}`;
  room.left -= length.length + 10;
  return elements === null || room.left < 0 ? `list of ${length}` : `list of ${length}: ${describe(elements, room)}`;
}

function describeObject({ members, hasMore }: Place, room: { left: number }): string {
  const told: string[] = [];
  for (const [name, place] of members) {
    if (room.left < 0) break;
    const isPlain = PLAIN_NAME.test(name) && name.length <= NAME_SHOWN;
    const shown = isPlain ? name : JSON.stringify(name.length > NAME_SHOWN ? `${name.slice(0, NAME_SHOWN)}…` : name);
    room.left -= shown.length + 2;
    told.push(`${shown}: ${describe(place, room)}`);
  }
  if (hasMore || told.length < members.size) told.push("…");
  return told.length === 0 ? "{}" : `{ ${told.join(", ")} }`;
}
