import { isObject, nameOfSegment } from "../../base/json.ts";

const SEGMENTS_MAX = 64;

/**
 * The target schema of a reference within a resource: `#` or `#/$defs/name`. `undefined` if none exists, and for
 * anchors and other resources, which are not resolved.
 */
export function findSchema(resource: Readonly<Record<string, unknown>>, ref: string): unknown {
  if (!ref.startsWith("#")) return undefined;
  const fragment = decode(ref.slice(1));
  if (fragment === undefined) return undefined;
  if (fragment === "") return resource;
  return fragment.startsWith("/") ? follow(resource, fragment) : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function follow(resource: unknown, pointer: string): unknown {
  const segments = pointer.split("/", SEGMENTS_MAX + 1).slice(1);
  let found = resource;
  for (const segment of segments) {
    const key = nameOfSegment(segment);
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return isObject(found) || typeof found === "boolean" ? found : undefined;
}
