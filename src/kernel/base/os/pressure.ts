import { readFileSync } from "node:fs";
import path from "node:path";

/**
 * Pressure of the whole machine, as the kernel reports it: the share of the last ten seconds in which some process
 * waited for a resource. A program that owns its process watches it, as `glovebox serve` does.
 */
export type PressedResource = "cpu" | "memory";

export interface Pressure {
  readonly resource: PressedResource;
  /** Whether it is high from now on. */
  readonly isHigh: boolean;
  /** Share of the last ten seconds in which some process waited, in percent. */
  readonly percent: number;
}

/** Percent above which pressure is high, and below which it no longer is. */
const BOUNDS = { cpu: { above: 80, below: 60 }, memory: { above: 20, below: 10 } } as const;
const RESOURCES = ["cpu", "memory"] as const satisfies readonly PressedResource[];
const LOOK_EVERY_MS = 2_000;

const high = new Set<PressedResource>();
const listeners = new Set<(pressure: Pressure) => void>();
let timer: NodeJS.Timeout | null = null;

/** Whether a watched resource is short. `false` if it is not watched. */
export function isPressed(resource: PressedResource): boolean {
  return high.has(resource);
}

/** Calls back whenever pressure begins or ends. */
export function onPressure(listener: (pressure: Pressure) => void): Disposable {
  listeners.add(listener);
  return { [Symbol.dispose]: () => void listeners.delete(listener) };
}

/** Resolves when the resource is not short any more, or after that time. */
export async function relief(resource: PressedResource, maxMs: number): Promise<void> {
  if (!isPressed(resource)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timeout = setTimeout(resolve, maxMs).unref();
  using _listener = onPressure((pressure) => {
    if (pressure.resource === resource && !pressure.isHigh) resolve();
  });
  await promise;
  clearTimeout(timeout);
}

/**
 * Watches the machine's pressure from now on, with one timer, which does not keep the process alive. Does nothing if
 * the kernel reports no pressure. `root`: the folder that holds `/proc`.
 */
export function watchPressure(root = "/", everyMs = LOOK_EVERY_MS): Disposable {
  if (timer !== null) clearInterval(timer);
  timer = look(root) ? setInterval(() => look(root), everyMs).unref() : null;
  return { [Symbol.dispose]: unwatch };
}

function unwatch(): void {
  if (timer !== null) clearInterval(timer);
  timer = null;
  for (const resource of high) change({ resource, isHigh: false, percent: 0 });
}

/** Returns whether the kernel reports any pressure. */
function look(root: string): boolean {
  let isTold = false;
  for (const resource of RESOURCES) {
    const percent = percentOf(path.join(root, "proc/pressure", resource));
    if (percent === null) continue;
    isTold = true;
    const { above, below } = BOUNDS[resource];
    const was = high.has(resource);
    const isHigh = was ? percent >= below : percent > above;
    if (isHigh !== was) change({ resource, isHigh, percent });
  }
  return isTold;
}

function change(pressure: Pressure): void {
  if (pressure.isHigh) high.add(pressure.resource);
  else high.delete(pressure.resource);
  for (const listener of listeners) listener(pressure);
}

/** `null` if there is no such file, or the kernel was started without it. */
function percentOf(file: string): number | null {
  try {
    const [, digits] = /^some avg10=(\d+\.\d+)/m.exec(readFileSync(file, "utf8")) ?? [];
    return digits === undefined ? null : Number(digits);
  } catch {
    return null;
  }
}
