import { setImmediate } from "node:timers/promises";
import { PackageError, quoted } from "../../package/step.ts";
import type { PythonScript } from "../../../base/protocol/script.ts";
import { SCRIPT_BYTES_MAX } from "./python-file.ts";
import { comparisonsIn, counts, type Requirement, shownRequirement } from "./requirement.ts";
import { isCompiled, standInFor, standsIn } from "./stand-ins.ts";
import { admits, compareVersions, countSpecifiers, isPrerelease } from "./versions.ts";
import type { WheelName } from "./wheel-name.ts";
import type { ReadWheel, Wheels } from "./wheels.ts";

const PACKAGES_MAX = 200;
/** Maximum number of resolution rounds: a chosen wheel may require something that changes the choice. */
const ROUNDS_MAX = 100;
const FILES_MAX = 10_000;
/** Maximum number of comparisons of versions and conditions; each blocks the server for a few microseconds. */
const COMPARISONS_MAX = 100_000;
/** Number of comparisons after which to yield to the event loop. */
const COMPARISONS_IN_TURN = 1_000;

/** The wheel chosen for all requirements of one name. */
interface Choice {
  readonly name: WheelName;
  readonly wheel: ReadWheel;
}

/**
 * Resolves requirements to wheels in the operator's folder, including their dependencies. Rejects with a `PackageError`
 * that names what is missing and what requires it.
 */
export async function install(asked: readonly Requirement[], wheels: Wheels): Promise<PythonScript["packages"]> {
  if (asked.length === 0) return {};
  return merged(await choose(asked, wheels));
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
async function choose(asked: readonly Requirement[], wheels: Wheels): Promise<readonly Choice[]> {
  const listed = await wheels.list();
  // Reuses the same objects in each round: a change is detected by identity.
  const read = new Map<string, Promise<ReadWheel>>();
  const readOnce = (name: WheelName): Promise<ReadWheel> => {
    const known = read.get(name.file) ?? wheels.read(name);
    read.set(name.file, known);
    return known;
  };
  const effort = new Effort();
  let all = asked;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const choices: Choice[] = [];
    const needed = [...asked];
    let characters = 0;
    for (const [name, requirements] of byName(all)) {
      const choice = await chooseOne(name, requirements, listed.get(name) ?? [], readOnce, effort);
      if (choice === null) continue;
      choices.push(choice);
      characters += choice.wheel.weight;
      const extras = [...new Set(requirements.flatMap((one) => one.extras))];
      for (const one of choice.wheel.requires) {
        await effort.spend(comparisonsIn(one) * (1 + extras.length));
        if (counts(one, extras)) needed.push(one);
      }
      if (choices.length > PACKAGES_MAX) throw new PackageError(`it needs more than ${PACKAGES_MAX} packages`);
      if (characters > SCRIPT_BYTES_MAX) throw tooLarge();
    }
    if (isSame(needed, all)) return choices;
    all = needed;
  }
  throw new PackageError("no compatible set of wheels was found; require exact versions");
}

/** The latest version that fits all requirements; `null` if the interpreter has a stand-in. */
async function chooseOne(
  name: string,
  requirements: readonly Requirement[],
  listed: readonly WheelName[],
  read: (name: WheelName) => Promise<ReadWheel>,
  effort: Effort,
): Promise<Choice | null> {
  const standIn = standInFor(name);
  if (standIn !== undefined) {
    const wrong = requirements.find(({ versions }) => !standsIn(standIn, versions));
    if (wrong === undefined) return null;
    throw refused(wrong, `and what the interpreter has of it stands for the versions ${standIn.versions}`);
  }
  const pure = listed.filter(({ code }) => code === "pure");
  const best = await latest(pure, new Set(requirements.map(({ versions }) => versions)), effort);
  if (best === undefined) throw missing(name, requirements, listed, pure);
  const wheel = await read(best);
  const wrong = requirements.find(({ hashes }) => hashes.length > 0 && !hashes.includes(wheel.sha256));
  if (wrong !== undefined)
    throw refused(wrong, `and the wheel ${quoted(best.file)} has none of the hashes that it names`);
  return { name: best, wheel };
}

/** The latest version that fits all specifiers; a pre-release only if no release fits. */
async function latest(
  wheels: readonly WheelName[],
  specifiers: ReadonlySet<string>,
  effort: Effort,
): Promise<WheelName | undefined> {
  await effort.spend(wheels.length);
  const sorted = wheels.toSorted(
    (one, other) => compareVersions(other.version, one.version) || other.build - one.build,
  );
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

/** Reports the reason why no wheel fits. */
function missing(
  name: string,
  requirements: readonly Requirement[],
  listed: readonly WheelName[],
  pure: readonly WheelName[],
): PackageError {
  const [first, ...others] = requirements;
  if (first === undefined) return new PackageError(`${quoted(name)} is not there`);
  const advice = "the operator can put a wheel of pure Python (…-py3-none-any.whl) into the folder packages.wheels";
  if (pure.length > 0) {
    const there = pure.map(({ version }) => version).join(", ");
    const also = others.map((one) => `; ${one.place} asks for ${shownRequirement(one)}`).join("");
    return refused(first, `and what is there is ${quoted(there)}${also.slice(0, 1_000)}`);
  }
  if (isCompiled(name) || listed.some(({ code }) => code === "compiled")) {
    return refused(first, "which is compiled: only packages that are pure Python can run here");
  }
  if (listed.length > 0) return refused(first, `and the wheels of it that are there are for another Python; ${advice}`);
  return refused(first, `which is not there; ${advice}`);
}

function refused(requirement: Requirement, problem: string): PackageError {
  return new PackageError(`${requirement.place} asks for ${shownRequirement(requirement)}, ${problem}`);
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
  const files = new Map<string, PythonScript["packages"][string]>();
  const folders = new Set<string>();
  for (const { name, wheel } of choices.toSorted((one, other) => (one.name.name < other.name.name ? -1 : 1))) {
    for (const [path, file] of wheel.files) {
      const known = files.get(path);
      if (known !== undefined && JSON.stringify(known) !== JSON.stringify(file)) {
        throw new PackageError(`the wheel ${quoted(name.file)} has ${quoted(path)}, which another wheel contains too`);
      }
      files.set(path, file);
      for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) folders.add(path.slice(0, at));
    }
  }
  const both = [...files.keys()].find((path) => folders.has(path));
  if (both !== undefined) throw new PackageError(`${quoted(both)} is a file in one wheel and a folder in another`);
  if (files.size > FILES_MAX) throw new PackageError(`its packages have more than ${FILES_MAX} files`);
  return Object.fromEntries(files);
}

function tooLarge(): PackageError {
  return new PackageError(`the packages that it needs have more than ${SCRIPT_BYTES_MAX} characters`);
}
