import { isObject } from "../../base/json.ts";
import { type Fields, isCount, isLine, isText, isTime, readText } from "./fields.ts";
import type { MachineInfo } from "./messages.ts";

const SLOTS_MAX = 100_000;
/** The longest name that a system may have in the DNS. */
const HOST_MAX = 255;

/** What a machine says of itself; `null` where it is none. */
export function readInfo(text: string, id: string): MachineInfo | null {
  try {
    const info = readText(text, "what a machine says of itself");
    return isObject(info) && info["id"] === id && isInfo(info) ? info : null;
  } catch {
    return null;
  }
}

function isInfo(info: Fields): info is Fields & MachineInfo {
  const { protocols, slots, busySlots, isReady, isDraining, isSandboxed } = info;
  const { isolates, starts, heapBytes, rssBytes, quarantined, host, beat } = info;
  const isSized = isSlots(slots) && isSlots(busySlots) && isTime(rssBytes);
  const areFlags = [isReady, isDraining, isSandboxed].every((flag) => typeof flag === "boolean");
  const areIsolates = isObject(isolates) && ["active", "warm", "blank"].every((state) => isCount(isolates[state]));
  const areCounted = [starts, heapBytes].every((counts) => isObject(counts) && Object.values(counts).every(isTime));
  const areLists = Array.isArray(protocols) && protocols.every(isCount) && Array.isArray(quarantined);
  const isHost = host === undefined || (isLine(host) && host.length <= HOST_MAX);
  const isSaid = isHost && (beat === undefined || isCount(beat));
  return isSaid && isSized && areFlags && areIsolates && areCounted && areLists && quarantined.every(isText);
}

function isSlots(value: unknown): value is number {
  return isCount(value) && value <= SLOTS_MAX;
}
