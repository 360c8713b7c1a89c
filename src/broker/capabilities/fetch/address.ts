import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Public by its number, and yet the metadata service of a cloud (Azure's). */
const METADATA = "168.63.129.16";

const [ISATAP, NAT64_HIGH, NAT64_LOW] = [0x5efe, 0x64, 0xff9b];

/**
 * Whether an address is one of the open internet's. All that may lead elsewhere is not: loopback, private, link-local and
 * shared networks, addresses of groups, of examples and of clouds' metadata, and those of IPv6 that hold one of these, or
 * that are tunnels, because what they end in is nobody's to tell. Whatever is no address is not public either.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes("%")) return false;
  const parsed = ipaddr.parse(address);
  return parsed instanceof ipaddr.IPv6 ? isPublicV6(parsed) : isPublicV4(parsed as ipaddr.IPv4);
}

function isPublicV4(address: ipaddr.IPv4): boolean {
  return address.range() === "unicast" && address.toString() !== METADATA;
}

function isPublicV6(address: ipaddr.IPv6): boolean {
  const { parts } = address;
  const [first = 0, second = 0] = parts;
  if (address.isIPv4MappedAddress()) return isPublicV4(address.toIPv4Address());
  // Where a network has no IPv4, its resolvers give such an address for every public one.
  const isNat64 = first === NAT64_HIGH && second === NAT64_LOW && parts.slice(2, 6).every((part) => part === 0);
  if (isNat64) return isPublicV4(embedded(parts));
  // Only this eighth has been given out; tunnels and what is reserved in it have names of their own.
  if (first >> 13 !== 1 || address.range() !== "unicast") return false;
  const isIsatap = parts[5] === ISATAP && (parts[4] === 0 || parts[4] === 0x200);
  return !isIsatap || isPublicV4(embedded(parts));
}

/** The address of IPv4 in the last 32 bits. */
function embedded(parts: readonly number[]): ipaddr.IPv4 {
  const [high = 0, low = 0] = parts.slice(6);
  return new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]);
}
