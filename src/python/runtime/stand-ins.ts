import { admits, versionsIn } from "./versions.ts";

/** A built-in module that replaces a package that could not run in the interpreter. */
export interface StandIn {
  /** Normalized name of the package (PEP 503). */
  readonly name: string;
  /** The versions whose interface it implements. */
  readonly versions: string;
  /** The version that it reports. */
  readonly version: string;
  /** Whether it takes precedence over a wheel, because the package itself cannot work here. */
  readonly isFirst: boolean;
}

/** Built into the interpreter: needs no wheel. */
const STAND_INS: readonly StandIn[] = [
  { name: "requests", versions: ">=2,<3", version: "2.32.5", isFirst: false },
  { name: "urllib3", versions: ">=1.26,<3", version: "2.0", isFirst: false },
  { name: "httpx", versions: ">=0.20,<1", version: "0.28.1", isFirst: false },
  { name: "aiohttp", versions: ">=3,<4", version: "3.12.0", isFirst: true },
  { name: "ddgs", versions: ">=9,<10", version: "9.6.0", isFirst: true },
  { name: "primp", versions: ">=0.15,<1", version: "0.15.0", isFirst: true },
  { name: "amplifier-core", versions: ">=0", version: "1.0.0", isFirst: true },
  { name: "strands-agents", versions: ">=1,<2", version: "1.9.1", isFirst: true },
  { name: "xaibo", versions: ">=0", version: "1.0.0", isFirst: true },
];

/** Packages known to be compiled, for a clearer error message. */
const COMPILED: ReadonlySet<string> = new Set(
  (
    "numpy pandas scipy pillow matplotlib scikit-learn scikit-image opencv-python opencv-python-headless torch torchvision " +
    "tensorflow jax jaxlib pyarrow polars duckdb lxml cryptography cffi pynacl bcrypt pydantic-core rpds-py orjson msgspec " +
    "tokenizers tiktoken safetensors grpcio protobuf psycopg2 psycopg2-binary mysqlclient asyncpg pymssql pyodbc greenlet " +
    "uvloop httptools watchfiles pyzmq psutil shapely gdal pycryptodome regex"
  ).split(" "),
);

/** The built-in replacement of a package, if any. */
export function standInFor(name: string): StandIn | undefined {
  return STAND_INS.find((one) => one.name === name);
}

/**
 * Whether a stand-in satisfies the specifiers. It implements many versions, so it does if its own version, any version
 * named in the specifiers, or the successor of one fits both.
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
