import { PackageError, quoted } from "../../kernel/tool/package/step.ts";
import { PLATFORMS, PYTHON_MINOR } from "./environment.ts";
import { LOCK, type LockedPackage } from "./pyodide-lock.ts";
import { type Requirement, shownRequirement } from "./requirement.ts";
import { isCompiled } from "./stand-ins.ts";
import type { WheelName } from "./wheel-name.ts";

const FOLDER = "into the folder packages.wheels";
const COMPILED = `cp3${PYTHON_MINOR}-cp3${PYTHON_MINOR}-${PLATFORMS[0]}`;

/** Place that is searched for wheels: the operator's folder, or an index, which fills it. */
export type Place = "folder" | "index";

/** Whether a wheel can be loaded here. */
export function isUsable({ code }: WheelName): boolean {
  return code === "pure" || code === "compiled";
}

/** Reports the reason why no wheel fits. `locked`: the package's entry in the folder's lock. */
export function missing(
  name: string,
  requirements: readonly Requirement[],
  listed: readonly WheelName[],
  locked: LockedPackage | undefined,
  place: Place,
): PackageError {
  const [first, ...others] = requirements;
  if (first === undefined) return new PackageError(`${quoted(name)} is not there`);
  const isOfFolder = place === "folder";
  const usable = listed.filter(isUsable);
  if (usable.length > 0) {
    const there = usable.map(({ version }) => version).join(", ");
    const also = others.map((one) => `; ${one.place} asks for ${shownRequirement(one)}`).join("");
    return refused(
      first,
      `and ${isOfFolder ? "what is there is" : "the index has"} ${quoted(there)}${also.slice(0, 1_000)}`,
    );
  }
  if (locked !== undefined) {
    const problem = `which ${LOCK} names, and whose file ${quoted(locked.file)} is not there`;
    return refused(first, `${problem}; the operator can put it ${FOLDER}`);
  }
  const foreign = listed.find(({ code }) => code === "foreign");
  if (foreign !== undefined || isCompiled(name)) {
    const problem =
      foreign === undefined
        ? "which is compiled code, and no wheel of it is there"
        : `and its wheel ${quoted(foreign.file)} is compiled for another platform or Python`;
    return refused(first, `${problem}; the operator can put one ${FOLDER} that Pyodide built (…-${COMPILED}.whl)`);
  }
  const pure = "a wheel of pure Python (…-py3-none-any.whl)";
  const advice = isOfFolder
    ? `the operator can put ${pure} ${FOLDER}: glovebox python add ${name}`
    : `what runs here is ${pure}, or one that Pyodide built`;
  if (listed.length > 0) return refused(first, `and the wheels of it that are there are for another Python; ${advice}`);
  return refused(first, `${isOfFolder ? "which is not there" : "of which the index has no wheel"}; ${advice}`);
}

/** Reports that a requirement cannot be met. */
export function refused(requirement: Requirement, problem: string): PackageError {
  return new PackageError(`${requirement.place} asks for ${shownRequirement(requirement)}, ${problem}`);
}
