import { GloveboxError } from "./errors.ts";
import { memberOf } from "./json.ts";

/** Optional peer dependencies and their supported versions, as in `package.json`. */
const VERSIONS = {
  "@langchain/core": "^1.4.0",
  "@modelcontextprotocol/client": "^2.4.0",
  aws4fetch: "^1.0.20",
  bullmq: "^6.7.0",
  ioredis: "^6.0.0",
  jose: "^6.2.17",
  liquidjs: "^10.30.1",
  pyodide: "^314.0.7",
  typescript: "^7.0.2",
} as const;

export type OptionalPackage = keyof typeof VERSIONS;

/**
 * Imports modules that need optional peer dependencies. `feature` names the feature for the error message. Rejects with
 * a `GloveboxError`, `missing_package`, if one of the packages is not installed.
 */
export async function importOptional<Module>(
  feature: string,
  packages: readonly OptionalPackage[],
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    throw packages.some((name) => isMissing(error, name)) ? missingPackage(feature, packages) : error;
  }
}

export function missingPackage(feature: string, packages: readonly OptionalPackage[]): GloveboxError {
  const [needs, are] = packages.length === 1 ? ["package", "is"] : ["packages", "are"];
  const command = `npm install ${packages.map((name) => `${name}@${VERSIONS[name]}`).join(" ")}`;
  const message = `${feature} needs the ${needs} ${packages.join(" and ")}, which ${are} not installed; run: ${command}`;
  return new GloveboxError("missing_package", message, { packages, command }, [{ kind: "command", command }]);
}

function isMissing(error: unknown, name: OptionalPackage): boolean {
  const code = memberOf(error, "code");
  const isModules = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  return isModules && String(memberOf(error, "message")).includes(`'${name}'`);
}
