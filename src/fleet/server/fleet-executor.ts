import { resolve } from "node:path";
import { count } from "../../kernel/base/limits.ts";
import { importOptional } from "../../kernel/base/optional-package.ts";
import type { ExecutorOptions } from "../../kernel/executor/executor.ts";
import type { ExecutorFactory } from "../../kernel/executor/executor-factory.ts";
import type { ResolvedFleetOptions } from "./queue-executor.ts";
import { resolveSecret } from "../../kernel/store/seal.ts";
import { resolveFleetName, resolveRedisUrl } from "../redis/url.ts";

const LOST_MS_LEAST = 100;
const STORE_URL = /^(?:file|s3\+https?):\/\//;

/** The executor of a fleet's servers. */
export const fleetExecutor: ExecutorFactory<ResolvedFleetOptions> = {
  kind: "queue",
  options: ["url", "fleet", "secret", "lostMs", "store", "codeMaxBytes"],
  resolve: resolveFleet,
  load: async (_isolates, own) => {
    const load = () => import("./queue-executor.ts");
    const { QueueExecutor } = await importOptional('executor "queue"', ["bullmq", "ioredis"], load);
    const { requireSigner } = await import("../texts/open-store.ts");
    await requireSigner(own.store);
    return (host) => new QueueExecutor({ perTool: Infinity, perTenant: Infinity, ...own, ...host });
  },
};

function resolveFleet({
  url,
  fleet,
  secret,
  lostMs,
  store,
  codeMaxBytes,
}: Partial<ExecutorOptions>): ResolvedFleetOptions {
  if (url === undefined || url === "")
    throw new TypeError('executor.url is required for executor "queue": where Redis is');
  return {
    url: resolveRedisUrl("executor.url", url),
    fleet: resolveFleetName("executor.fleet", fleet),
    secret: resolveSecret("executor.secret", secret),
    lostMs: count("executor.lostMs", lostMs, 10_000, LOST_MS_LEAST),
    store: resolveStore(store),
    codeMaxBytes: count("executor.codeMaxBytes", codeMaxBytes, 16 * 1024 ** 2, 1_024),
  };
}

function resolveStore(store: string | undefined): string | undefined {
  if (store === undefined || STORE_URL.test(store)) return store;
  if (store === "" || store.includes("\0") || store.includes("://")) {
    throw new TypeError("executor.store is a folder, file://…, s3+https://… or s3+http://…");
  }
  return resolve(store);
}
