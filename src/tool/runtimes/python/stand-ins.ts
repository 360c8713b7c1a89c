import { admits, versionsIn } from "./versions.ts";

/** A module that the interpreter has itself, in the place of a package that could not run in it. */
export interface StandIn {
  /** As it is called where it is asked for, normalised. */
  readonly name: string;
  /** The versions whose face it has. */
  readonly versions: string;
  /** The one that it says it is. */
  readonly version: string;
}

/** What the interpreter brings: it needs no wheel, and none that lies there takes its place. */
const STAND_INS: readonly StandIn[] = [
  { name: "requests", versions: ">=2,<3", version: "2.32.5" },
  { name: "urllib3", versions: ">=1.26,<3", version: "2.0" },
  { name: "httpx", versions: ">=0.20,<1", version: "0.28.1" },
  { name: "aiohttp", versions: ">=3,<4", version: "3.12.0" },
  { name: "amplifier-core", versions: ">=0", version: "1.0.0" },
  { name: "xaibo", versions: ">=0", version: "1.0.0" },
];

/** Packages that are known to be compiled, and whose wheels nobody needs to look for. */
const COMPILED: ReadonlySet<string> = new Set(
  (
    "numpy pandas scipy pillow matplotlib scikit-learn scikit-image opencv-python opencv-python-headless torch torchvision " +
    "tensorflow jax jaxlib pyarrow polars duckdb lxml cryptography cffi pynacl bcrypt pydantic-core rpds-py orjson msgspec " +
    "tokenizers tiktoken safetensors grpcio protobuf psycopg2 psycopg2-binary mysqlclient asyncpg pymssql pyodbc greenlet " +
    "uvloop httptools watchfiles pyzmq psutil shapely gdal pycryptodome regex"
  ).split(" "),
);

/** What the interpreter has for a package; `undefined` where it has nothing. */
export function standInFor(name: string): StandIn | undefined {
  return STAND_INS.find((one) => one.name === name);
}

/**
 * Whether something stands in for what is asked for. It has the face of many versions, so it does where any that is
 * named, or the one after it, is one of those.
 */
export function standsIn({ versions, version }: StandIn, specifiers: string): boolean {
  const named = versionsIn(specifiers);
  const tried = [version, ...named, ...named.map((one) => `${one}.1`)];
  return tried.some((one) => admits(versions, one) && admits(specifiers, one));
}

/** Whether a package is known to be compiled code, which cannot run here. */
export function isCompiled(name: string): boolean {
  return COMPILED.has(name);
}
