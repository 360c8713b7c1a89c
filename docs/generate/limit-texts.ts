import { DEFAULT_LIMITS, type Limits, MAX_LIMITS } from "../../src/kernel/base/limits.ts";

const MIB = 1024 * 1024;

/** A limit's default and its ceiling, in a sentence. */
export function limit(name: keyof Limits): string {
  const [usual, most] = [DEFAULT_LIMITS[name], MAX_LIMITS[name]].map((value) => shown(name, value));
  return `\`${name}\` ${usual}, ${most} at most`;
}

function shown(name: keyof Limits, value: number): string {
  if (name.endsWith("Ms")) return `${count(value)} ms`;
  if (name === "memoryMb") return `${count(value)} MiB`;
  if (name === "capabilityCalls") return count(value);
  return value < MIB ? `${value / 1024} KiB` : mib(value);
}

export function mib(bytes: number): string {
  return `${count(bytes / MIB)} MiB`;
}

export function count(value: number): string {
  return value.toLocaleString("en");
}
