import { setImmediate } from "node:timers/promises";
import { PackageError, quoted } from "../../package/step.ts";
import type { PythonFile, PythonScript } from "../../../base/protocol/script.ts";
import { SCRIPT_BYTES_MAX } from "./python-file.ts";
import { checkLibraries, LIBRARIES_FOLDER, type Libraries, type Library } from "./libraries.ts";
import { LOCK, type LockedPackage, type PyodideLock } from "./pyodide-lock.ts";
import { comparisonsIn, counts, isHashed, type Requirement } from "./requirement.ts";
import { isUsable, missing, refused } from "./refusals.ts";
import { type StandIn, standInFor, standsIn } from "./stand-ins.ts";
import { admits, compareVersions, countSpecifiers, isPrerelease } from "./versions.ts";
import type { WheelName } from "./wheel-name.ts";
import { hashDiffers, type ReadWheel, type Wheels } from "./wheels.ts";

const PACKAGES_MAX = 200;
/** Maximum number of resolution rounds: a chosen wheel may require something that changes the choice. */
const ROUNDS_MAX = 100;
const FILES_MAX = 10_000;
/** Maximum number of comparisons of versions and conditions; each blocks the server for a few microseconds. */
const COMPARISONS_MAX = 100_000;
/** Number of comparisons after which to yield to the event loop. */
const COMPARISONS_IN_TURN = 1_000;

/** Packages with a part without which they are not themselves, and which has a stand-in. */
const MADE_OF: readonly (readonly [name: string, part: string])[] = [["requests", "urllib3"]];

/** The packages that meet the requirements. */
export interface Installation {
  readonly packages: PythonScript["packages"];
  /** Machine code, by its path among the packages. */
  readonly libraries: Libraries;
}

export const NOTHING: Installation = { packages: {}, libraries: new Map() };

/** The wheel chosen for all requirements of one name. */
interface Choice {
  readonly name: WheelName;
  readonly wheel: ReadWheel;
  /** Its entry in the folder's lock. */
  readonly locked: LockedPackage | undefined;
}

/** Contents of the operator's folder. */
interface Stock {
  readonly listed: ReadonlyMap<string, readonly WheelName[]>;
  readonly lock: PyodideLock;
  /** Whether only packages may be taken whose hashes are named. */
  readonly isClosed: boolean;
  readonly read: (name: WheelName) => Promise<ReadWheel>;
}

/**
 * Resolves requirements to wheels in the operator's folder, including their dependencies. Rejects with a `PackageError`
 * that names what is missing and what requires it.
 */
export async function install(asked: readonly Requirement[], wheels: Wheels): Promise<Installation> {
  if (asked.length === 0) return NOTHING;
  const stock = await open(wheels, asked.some(isHashed));
  const choices = await choose(asked, stock);
  const libraries = new Map(choices.flatMap(({ wheel }) => [...wheel.libraries]));
  for (const [file, library] of await sharedOf(choices, stock.lock, wheels)) {
    libraries.set(`${LIBRARIES_FOLDER}/${file}`, library);
  }
  checkLibraries(libraries);
  return { packages: merged(choices), libraries };
}

async function open(wheels: Wheels, isClosed: boolean): Promise<Stock> {
  const [listed, lock] = await Promise.all([wheels.list(), wheels.lock()]);
  // Reuses the same objects in each round: a change is detected by identity.
  const read = new Map<string, Promise<ReadWheel>>();
  return {
    listed,
    lock,
    isClosed,
    read: (name) => {
      const known = read.get(name.file) ?? wheels.read(name);
      read.set(name.file, known);
      return known;
    },
  };
}

/** The libraries that a lock names for the chosen wheels, and for one another. */
async function sharedOf(
  choices: readonly Choice[],
  { packages }: PyodideLock,
  wheels: Wheels,
): Promise<ReadonlyMap<string, Library>> {
  const names = new Set<string>();
  const visit = ({ depends }: LockedPackage): void => {
    for (const name of depends) {
      const one = packages.get(name);
      if (one?.isShared !== true || names.has(name)) continue;
      names.add(name);
      visit(one);
    }
  };
  for (const { locked } of choices) if (locked !== undefined) visit(locked);
  const libraries = new Map<string, Library>();
  for (const name of names) {
    const one = packages.get(name);
    for (const [file, library] of one === undefined ? [] : await wheels.readShared(one, name)) {
      if (libraries.has(file)) throw new PackageError(`the library ${quoted(file)} is in two archives of ${LOCK}`);
      libraries.set(file, library);
    }
  }
  return libraries;
}

/** Budget of one resolution: requirements are hostile input, and there may be many wheels. */
class Effort {
  #spent = 0;
  #turn = 0;

  /**
   * Counts comparisons and yields to the event loop from time to time. Rejects with a `PackageError` when the budget is
   * exceeded.
   */
  async spend(comparisons: number): Promise<void> {
    this.#spent += comparisons;
    if (this.#spent > COMPARISONS_MAX) {
      throw new PackageError("its requirements take too long to resolve; require fewer packages");
    }
    if (this.#spent - this.#turn < COMPARISONS_IN_TURN) return;
    this.#turn = this.#spent;
    await setImmediate();
  }
}

/** Chooses wheels for the requirements, and again with the requirements of the chosen wheels, until nothing changes. */
async function choose(asked: readonly Requirement[], stock: Stock): Promise<readonly Choice[]> {
  const effort = new Effort();
  const ofLock = new Map<string, Requirement>();
  let all = asked;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const choices: Choice[] = [];
    const needed = [...asked];
    let characters = 0;
    for (const [name, requirements] of byName(all)) {
      const choice = await chooseOne(name, requirements, stock, effort);
      if (choice === null) continue;
      choices.push(choice);
      characters += choice.wheel.weight;
      const extras = [...new Set(requirements.flatMap((one) => one.extras))];
      for (const one of choice.wheel.requires) {
        await effort.spend(comparisonsIn(one) * (1 + extras.length));
        if (counts(one, extras)) needed.push(one);
      }
      needed.push(...requiredByLock(choice, stock.lock, ofLock));
      if (choices.length > PACKAGES_MAX) throw new PackageError(`it needs more than ${PACKAGES_MAX} packages`);
      if (characters > SCRIPT_BYTES_MAX) throw tooLarge();
    }
    if (isSame(needed, all)) {
      requireReal(choices, all);
      return choices;
    }
    all = needed;
  }
  throw new PackageError("no compatible set of wheels was found; require exact versions");
}

/** A package that is made of another one takes no stand-in for it. */
function requireReal(choices: readonly Choice[], requirements: readonly Requirement[]): void {
  const names = new Set(choices.map(({ name }) => name.name));
  for (const [name, part] of MADE_OF) {
    const wanted = requirements.find((one) => one.name === part);
    if (names.has(name) && !names.has(part) && wanted !== undefined) throw missing(part, [wanted], [], undefined);
  }
}

/** Requirements of a package by the lock, besides those of its wheel. `known`: one object for each. */
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

/** The latest version that fits all requirements; `null` if no wheel fits, and a stand-in does. */
async function chooseOne(
  name: string,
  requirements: readonly Requirement[],
  { listed, lock, isClosed, read }: Stock,
  effort: Effort,
): Promise<Choice | null> {
  const standIn = standInFor(name);
  const isPinned = !isClosed || requirements.some(isHashed);
  const all = listed.get(name) ?? [];
  const usable = isPinned && standIn?.isFirst !== true ? all.filter(isUsable) : [];
  const best = await latest(usable, new Set(requirements.map(({ versions }) => versions)), effort);
  if (best === undefined) {
    if (standIn !== undefined) return requireStandIn(standIn, requirements);
    const [first] = requirements;
    if (!isPinned && first !== undefined) throw refused(first, "which nothing pins with a hash, as all others are");
    throw missing(name, requirements, all, lock.packages.get(name));
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
    ? missing(name, requirements, all, undefined)
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

/** The latest version that fits all specifiers; a pre-release only if no release fits. */
async function latest(
  wheels: readonly WheelName[],
  specifiers: ReadonlySet<string>,
  effort: Effort,
): Promise<WheelName | undefined> {
  await effort.spend(wheels.length);
  const sorted = wheels.toSorted((one, other) => compareVersions(other.version, one.version) || byFitness(one, other));
  const { released = [], early = [] } = Object.groupBy(sorted, ({ version }) =>
    isPrerelease(version) ? "early" : "released",
  );
  for (const wheel of [...released, ...early]) {
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

/** All wheels are installed into one folder, so two may have a file of the same path only if it is identical. */
function merged(choices: readonly Choice[]): PythonScript["packages"] {
  const files = new Map<string, File>();
  const folders = new Set<string>();
  for (const { name, wheel } of choices.toSorted((one, other) => (one.name.name < other.name.name ? -1 : 1))) {
    for (const [path, file] of [...wheel.files, ...wheel.libraries]) {
      const known = files.get(path);
      if (known !== undefined && !isSameFile(known, file)) {
        throw new PackageError(`the wheel ${quoted(name.file)} has ${quoted(path)}, which another wheel contains too`);
      }
      files.set(path, file);
      for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) folders.add(path.slice(0, at));
    }
  }
  const both = [...files.keys()].find((path) => folders.has(path));
  if (both !== undefined) throw new PackageError(`${quoted(both)} is a file in one wheel and a folder in another`);
  if (files.size > FILES_MAX) throw new PackageError(`its packages have more than ${FILES_MAX} files`);
  return Object.fromEntries([...files].filter((one): one is [string, PythonFile] => !isLibrary(one[1])));
}

type File = PythonFile | Library;

function isLibrary(file: File): file is Library {
  return typeof file !== "string" && "needs" in file;
}

function isSameFile(one: File, other: File): boolean {
  if (isLibrary(one)) return isLibrary(other) && Buffer.from(one.bytes).equals(other.bytes);
  return JSON.stringify(one) === JSON.stringify(other);
}

function tooLarge(): PackageError {
  return new PackageError(`the packages that it needs have more than ${SCRIPT_BYTES_MAX} characters`);
}
