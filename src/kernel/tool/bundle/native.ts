/**
 * Native parts of packages, which an isolate lacks: a package whose native part is optional works without it, and any
 * other fails with the reason.
 */

/** Packages whose only work is to load a native addon. */
const LOADERS: ReadonlySet<string> = new Set([
  "bindings",
  "node-gyp-build",
  "node-gyp-build-optional-packages",
  "@mapbox/node-pre-gyp",
  "node-pre-gyp",
  "pkg-prebuilds",
]);

/** Whether an import loads a native addon or a module of WebAssembly. */
export function isNative(specifier: string): boolean {
  return LOADERS.has(specifier) || /\.(?:node|wasm)$/.test(specifier);
}

/** The reason why such an import fails, with advice; `undefined` for any other. */
export function nativeReason(specifier: string): string | undefined {
  if (!isNative(specifier)) return undefined;
  if (specifier.endsWith(".wasm"))
    return `An isolate has no WebAssembly, which '${shortName(specifier)}' needs: use a package in JavaScript, or a tool with the runtime "wasi"`;
  const what = LOADERS.has(specifier) ? `the addon that '${specifier}' loads` : `the addon '${shortName(specifier)}'`;
  return `An isolate loads no native addons, and so not ${what}: use a package in JavaScript, a tool with the runtime "native", or a custom capability of the host`;
}

function shortName(specifier: string): string {
  return specifier.slice(specifier.lastIndexOf("/") + 1);
}
