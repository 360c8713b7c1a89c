import { resolve } from "node:path";
import type { Metafile } from "esbuild";

/** The folder of the innermost package. */
const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const folders = new Set<string>();

/** Notes the npm packages that have code in a bundle. `from`: the folder from which the bundler names files. */
export function notePackages({ outputs }: Metafile, from = process.cwd()): void {
  for (const { inputs } of Object.values(outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
      const [folder] = PACKAGE.exec(resolve(from, file)) ?? [];
      if (folder !== undefined && bytesInOutput > 0) folders.add(folder);
    }
  }
}

/** The folders of the packages that have code in the bundles of this process: `npm run build` publishes their licences. @public */
export function bundledPackages(): readonly string[] {
  return [...folders].toSorted();
}
