import { stat } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../server/config/schema.ts";
import { SERVICE_DEFAULTS } from "../server/config/effective.ts";
import { OriginCheck } from "../server/http/origin-check.ts";
import type { SettingMistake } from "./config-tools.ts";
import { requireLoopback } from "./service-keys.ts";

/** Finds values that `serve` refuses when it starts. `hasKeys`: or tokens. Writes nothing. */
export async function findServiceMistakes(values: Config, hasKeys: boolean): Promise<readonly SettingMistake[]> {
  const { host = SERVICE_DEFAULTS.host, hosts = [], origins = [], publicUrl, audit, assets } = values;
  const bound = { host, hasKeys };
  const checks: readonly (readonly [at: readonly string[], check: () => unknown])[] = [
    ...(publicUrl === undefined ? [] : [[["publicUrl"], () => new OriginCheck({ publicUrl }, bound)] as const]),
    ...hosts.map((one, at) => [["hosts", `${at}`], () => new OriginCheck({ hosts: [one] }, bound)] as const),
    ...origins.map((one, at) => [["origins", `${at}`], () => new OriginCheck({ origins: [one] }, bound)] as const),
    ...(hasKeys ? [] : [[["host"], () => requireLoopback(host)] as const]),
  ];
  const found = checks.flatMap(([at, check]): SettingMistake[] => {
    try {
      check();
      return [];
    } catch (error) {
      return [{ rule: "config/meaning", path: at, message: error instanceof Error ? error.message : String(error) }];
    }
  });
  if (typeof audit === "string") {
    const isTaken = (await isFolder(audit)) === true;
    const why = isTaken ? "a folder is in its place" : "its folder is not there";
    if (isTaken || (await isFolder(path.dirname(audit))) !== true)
      found.push({ rule: "config/meaning", path: ["audit"], message: `the audit file cannot be opened: ${why}` });
  }
  if (assets?.path !== undefined && (await isFolder(assets.path)) === false)
    found.push({ rule: "config/meaning", path: ["assets", "path"], message: "assets.path is a file, not a folder" });
  return found;
}

/** `null` if the path does not exist, or cannot be examined. */
async function isFolder(at: string): Promise<boolean | null> {
  const found = await stat(at).catch(() => null);
  return found?.isDirectory() ?? null;
}
