/** A clock of a service's own, which is ahead of that of the machine. */
import { join } from "node:path";
import type { SceneSettings } from "./scene.ts";

const PROGRAM = "clock.mjs";

/** A service whose clock is ahead by `ahead` milliseconds, a variable that this program of its own sets. */
export function withClock(sets: string, more: SceneSettings = {}): SceneSettings {
  const program = `${sets}
const now = Date.now.bind(Date); const Real = Date;
globalThis.Date = new Proxy(Real, {
  construct: (target, args, as) => Reflect.construct(target, args.length === 0 ? [now() + ahead] : args, as),
  apply: () => new Real(now() + ahead).toString(),
});
Real.now = () => now() + ahead;\n`;
  return {
    ...more,
    files: (of) => ({ ...more.files?.(of), [PROGRAM]: program }),
    within: (of) => [...(more.within?.(of) ?? []), "env", `NODE_OPTIONS=--import=${join(of.path, PROGRAM)}`],
  };
}
