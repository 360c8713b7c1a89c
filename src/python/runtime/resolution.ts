import { setImmediate } from "node:timers/promises";
import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { LOCK, type LockedPackage, type PyodideLock } from "./pyodide-lock.ts";
import { comparisonsIn, counts, isHashed, type Requirement } from "./requirement.ts";
import { isUsable, missing, type Place, refused } from "./refusals.ts";
import { type StandIn, standInFor, standsIn } from "./stand-ins.ts";
import { admits, compareVersions, countSpecifiers, isPrerelease } from "./versions.ts";
import type { WheelName } from "./wheel-name.ts";
import { hashDiffers, type ReadWheel } from "./wheels.ts";

const PACKAGES_MAX = 200;
/** Maximum number of resolution rounds: the requirements of a chosen wheel may change the choice. */
const ROUNDS_MAX = 100;
/** Maximum number of attempts with an older version of a package, if the requirements of the latest one do not fit. */
const OLDER_MAX = 50;
/** Number of comparisons after which to yield to the event loop. */
const COMPARISONS_IN_TURN = 1_000;

/** Packages with an essential part for which there is a stand-in. */
const MADE_OF: readonly (readonly [name: string, part: string])[] = [["requests", "urllib3"]];

/** The wheel chosen for all requirements of one name. */
export interface Choice {
  readonly name: WheelName;
  readonly wheel: ReadWheel;
  /** Its entry in the lock of Pyodide. */
  readonly locked: LockedPackage | undefined;
}

/** The wheels among which is chosen: those in the operator's folder, or of an index. */
export interface Stock {
  readonly place: Place;
  readonly lock: PyodideLock;
  /** Whether only packages with given hashes are permitted. */
  readonly isClosed: boolean;
  /** Maximum number of comparisons of versions and conditions; each takes a few microseconds. */
  readonly maxComparisons: number;
  /** Maximum length of all chosen wheels, in characters. */
  readonly maxCharacters: number;
  /** Versions with precedence over later ones, if they fit, by name. */
  readonly preferred?: ReadonlyMap<string, string>;
  /** The wheels of a package; called once for each. */
  readonly list: (name: string) => readonly WheelName[] | Promise<readonly WheelName[]>;
  /** The content of a wheel; called once for each. */
  readonly read: (name: WheelName) => Promise<ReadWheel>;
}

/** Budget of one resolution: requirements are hostile input, and there may be many wheels. */
class Effort {
  readonly #max: number;
  #spent = 0;
  #turn = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts comparisons and yields to the event loop from time to time. Rejects with a `PackageError` when the budget is
   * exceeded.
   */
  async spend(comparisons: number): Promise<void> {
    this.#spent += comparisons;
    if (this.#spent > this.#max) {
      throw new PackageError("its requirements take too long to resolve; require fewer packages");
    }
    if (this.#spent - this.#turn < COMPARISONS_IN_TURN) return;
    this.#turn = this.#spent;
    await setImmediate();
  }
}

/** Requirements of one package that no wheel meets. */
class Conflict extends PackageError {
  readonly requirements: readonly Requirement[];

  constructor({ message }: PackageError, requirements: readonly Requirement[]) {
    super(message);
    this.requirements = requirements;
  }
}

/** State of a resolution in addition to its requirements. */
interface Attempt {
  readonly effort: Effort;
  /** Versions whose requirements do not fit. */
  readonly excluded: ReadonlySet<string>;
  /** The wheels that have the requirements. */
  readonly origins: Map<Requirement, WheelName>;
}

/**
 * The wheels for the requirements and their dependencies. If the dependencies of the latest version of a package do not
 * fit, an older one is tried. Rejects with a `PackageError` that names the missing or unsuitable package.
 */
export async function resolve(asked: readonly Requirement[], given: Stock): Promise<readonly Choice[]> {
  const stock = remembering(given);
  const effort = new Effort(stock.maxComparisons);
  const excluded = new Set<string>();
  let first: Conflict | null = null;
  for (let tries = 0; ; tries++) {
    const origins = new Map<Requirement, WheelName>();
    try {
      return await choose(asked, stock, { effort, excluded, origins });
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      first ??= error;
      const culprit = tries < OLDER_MAX ? await culpritOf(error, origins, excluded, stock) : undefined;
      if (culprit === undefined) throw first;
      excluded.add(versionOf(culprit));
    }
  }
}

/** A stock that gives the same objects in each round: a change is detected by identity. */
function remembering(stock: Stock): Stock {
  const lists = new Map<string, ReturnType<Stock["list"]>>();
  const wheels = new Map<string, Promise<ReadWheel>>();
  return {
    ...stock,
    list: (name) => {
      const known = lists.get(name) ?? stock.list(name);
      lists.set(name, known);
      return known;
    },
    read: (name) => {
      const known = wheels.get(name.file) ?? stock.read(name);
      wheels.set(name.file, known);
      return known;
    },
  };
}

/** The wheel with unsuitable dependencies that has an older version; the last one of several. */
async function culpritOf(
  { requirements }: Conflict,
  origins: ReadonlyMap<Requirement, WheelName>,
  excluded: ReadonlySet<string>,
  { list }: Stock,
): Promise<WheelName | undefined> {
  for (const requirement of requirements.toReversed()) {
    const origin = origins.get(requirement);
    if (origin === undefined) continue;
    const isOlder = (one: WheelName): boolean =>
      isUsable(one) && !excluded.has(versionOf(one)) && compareVersions(one.version, origin.version) < 0;
    if ((await list(origin.name)).some(isOlder)) return origin;
  }
  return undefined;
}

function versionOf({ name, version }: WheelName): string {
  return `${name} ${version}`;
}

/** Chooses wheels for the requirements, and again with the requirements of the chosen wheels, until nothing changes. */
async function choose(asked: readonly Requirement[], stock: Stock, attempt: Attempt): Promise<readonly Choice[]> {
  const { effort, origins } = attempt;
  const ofLock = new Map<string, Requirement>();
  let all = asked;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const choices: Choice[] = [];
    const needed = [...asked];
    let characters = 0;
    for (const [name, requirements] of byName(all)) {
      const choice = await chooseOne(name, requirements, stock, attempt);
      if (choice === null) continue;
      choices.push(choice);
      characters += choice.wheel.weight;
      const extras = [...new Set(requirements.flatMap((one) => one.extras))];
      for (const one of choice.wheel.requires) {
        await effort.spend(comparisonsIn(one) * (1 + extras.length));
        if (!counts(one, extras)) continue;
        needed.push(one);
        origins.set(one, choice.name);
      }
      needed.push(...requiredByLock(choice, stock.lock, ofLock));
      if (choices.length > PACKAGES_MAX) throw new PackageError(`it needs more than ${PACKAGES_MAX} packages`);
      if (characters > stock.maxCharacters) throw tooLarge(stock.maxCharacters);
    }
    if (isSame(needed, all)) {
      requireReal(choices, all, stock.place);
      return choices;
    }
    all = needed;
  }
  throw new PackageError("no compatible set of wheels was found; require exact versions");
}

/** A package with another one as an essential part does not accept a stand-in for it. */
function requireReal(choices: readonly Choice[], requirements: readonly Requirement[], place: Place): void {
  const names = new Set(choices.map(({ name }) => name.name));
  for (const [name, part] of MADE_OF) {
    const wanted = requirements.find((one) => one.name === part);
    if (names.has(name) && !names.has(part) && wanted !== undefined)
      throw missing(part, [wanted], [], undefined, place);
  }
}

/** Requirements of a package in the lock, in addition to those of its wheel. `known`: one object for each. */
function requiredByLock(
  { name, locked }: Choice,
  { packages }: PyodideLock,
  known: Map<string, Requirement>,
): readonly Requirement[] {
  const depends = locked?.depends.filter((one) => packages.get(one)?.isShared !== true) ?? [];
  return depends.map((one) => {
    const place = `${LOCK}, package ${quoted(name.name)},`;
    const key = `${name.name} ${one}`;
    const requirement = known.get(key) ?? { name: one, extras: [], versions: "", marker: null, hashes: [], place };
    known.set(key, requirement);
    return requirement;
  });
}

/** The latest version that fits all requirements; `null` if only a stand-in fits. */
async function chooseOne(
  name: string,
  requirements: readonly Requirement[],
  { place, list, lock, isClosed, preferred, read }: Stock,
  { effort, excluded }: Attempt,
): Promise<Choice | null> {
  const standIn = standInFor(name);
  const isPinned = !isClosed || requirements.some(isHashed);
  const all = standIn?.isFirst === true ? [] : await list(name);
  const usable = isPinned ? all.filter((one) => isUsable(one) && !excluded.has(versionOf(one))) : [];
  const specifiers = new Set(requirements.map(({ versions }) => versions));
  const best = await latest(usable, specifiers, preferred?.get(name), effort);
  if (best === undefined) {
    if (standIn !== undefined) return requireStandIn(standIn, requirements);
    const [first] = requirements;
    if (!isPinned && first !== undefined) throw refused(first, "which nothing pins with a hash, as all others are");
    throw new Conflict(missing(name, requirements, all, lock.packages.get(name), place), requirements);
  }
  const same = usable.filter(({ version }) => compareVersions(version, best.version) === 0).toSorted(byFitness);
  for (const one of same) {
    const wheel = await read(one);
    const locked = lock.files.get(one.file);
    if (locked !== undefined && locked.sha256 !== wheel.sha256) throw hashDiffers(one.file);
    if (requirements.every((each) => isMetBy(each, wheel))) return { name: one, wheel, locked };
  }
  const wrong = requirements.find(isHashed);
  throw wrong === undefined
    ? missing(name, requirements, all, undefined, place)
    : refused(wrong, `and the wheel ${quoted(best.file)} has none of the hashes that it names`);
}

function isMetBy({ hashes }: Requirement, { sha256 }: ReadWheel): boolean {
  return hashes.length === 0 || hashes.includes(sha256);
}

function requireStandIn(standIn: StandIn, requirements: readonly Requirement[]): null {
  const wrong = requirements.find(({ versions }) => !standsIn(standIn, versions));
  if (wrong === undefined) return null;
  throw refused(wrong, `and what the interpreter has of it stands for the versions ${standIn.versions}`);
}

/** The preferred version or the latest one that fits all specifiers; a pre-release only if no release fits. */
async function latest(
  wheels: readonly WheelName[],
  specifiers: ReadonlySet<string>,
  preferred: string | undefined,
  effort: Effort,
): Promise<WheelName | undefined> {
  await effort.spend(wheels.length);
  const sorted = wheels.toSorted((one, other) => compareVersions(other.version, one.version) || byFitness(one, other));
  const { released = [], early = [] } = Object.groupBy(sorted, ({ version }) =>
    isPrerelease(version) ? "early" : "released",
  );
  const first = sorted.filter(({ version }) => preferred !== undefined && compareVersions(version, preferred) === 0);
  for (const wheel of [...first, ...released, ...early]) {
    let suits = true;
    for (const versions of specifiers) {
      await effort.spend(1 + countSpecifiers(versions));
      suits = admits(versions, wheel.version);
      if (!suits) break;
    }
    if (suits) return wheel;
  }
  return undefined;
}

/** The order of wheels of one version: a compiled one is more for this interpreter than the other. */
function byFitness(one: WheelName, other: WheelName): number {
  const rank = Number(other.code === "compiled") - Number(one.code === "compiled");
  return rank || other.build - one.build;
}

function byName(requirements: readonly Requirement[]): ReadonlyMap<string, readonly Requirement[]> {
  return Map.groupBy(requirements, ({ name }) => name);
}

function isSame(some: readonly Requirement[], others: readonly Requirement[]): boolean {
  const [one, other] = [new Set(some), new Set(others)];
  return one.size === other.size && one.isSubsetOf(other);
}

function tooLarge(maxCharacters: number): PackageError {
  return new PackageError(`the packages that it needs have more than ${maxCharacters} characters`);
}
