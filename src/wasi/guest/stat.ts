import { ERRNO, FSTFLAG, WasiError } from "./abi.ts";
import type { Descriptor } from "./descriptors.ts";
import type { Memory } from "./memory.ts";
import type { Node } from "./nodes.ts";

const FILESTAT_BYTES = 64;
const FDSTAT_BYTES = 24;
/** All files of a call are on one device. */
const DEVICE = 1n;

/** Writes a node's `filestat`; a stream has none, only a type. */
export function writeFilestat(memory: Memory, to: number, node: Node | null, filetype: number): void {
  memory.bytes(to, FILESTAT_BYTES).fill(0);
  const at = to >>> 0;
  memory.view.setUint8(at + 16, filetype);
  if (node === null) return;
  const { ino, links, size, accessedNs, modifiedNs, changedNs } = node;
  memory.setU64(at, DEVICE);
  for (const [index, value] of [BigInt(links), BigInt(size), accessedNs, modifiedNs, changedNs].entries()) {
    memory.setU64(at + 24 + 8 * index, value);
  }
  memory.setU64(at + 8, ino);
}

/** Writes a descriptor's `fdstat`. */
export function writeFdstat(memory: Memory, to: number, descriptor: Descriptor): void {
  memory.bytes(to, FDSTAT_BYTES).fill(0);
  const at = to >>> 0;
  const { filetype, flags, rights, inheriting } = descriptor;
  memory.view.setUint8(at, filetype);
  memory.view.setUint16(at + 2, flags, true);
  memory.setU64(at + 8, rights);
  memory.setU64(at + 16, inheriting);
}

/** Times that a command sets, as it passes them. */
export interface SetTimes {
  readonly accessed: bigint;
  readonly modified: bigint;
  readonly flags: number;
}

/** Sets a node's times. Throws a `WasiError` if the flags set one of them twice. */
export function setTimes(node: Node, { accessed, modified, flags }: SetTimes, nowNs: bigint): void {
  const accessedNs = chosen(flags, FSTFLAG.atime, FSTFLAG.atimeNow, accessed, nowNs);
  const modifiedNs = chosen(flags, FSTFLAG.mtime, FSTFLAG.mtimeNow, modified, nowNs);
  node.accessedNs = accessedNs ?? node.accessedNs;
  node.modifiedNs = modifiedNs ?? node.modifiedNs;
  node.changedNs = nowNs;
}

function chosen(flags: number, given: number, now: number, value: bigint, nowNs: bigint): bigint | null {
  if ((flags & given) !== 0 && (flags & now) !== 0) throw new WasiError(ERRNO.inval);
  if ((flags & given) !== 0) return BigInt.asUintN(64, value);
  return (flags & now) === 0 ? null : nowNs;
}
