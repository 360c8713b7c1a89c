/** Alerts on what a server keeps on its disk: the store of calls, the audit, assets. */
import { ask } from "../callers.ts";
import { fill } from "../disk.ts";
import type { Stage, Trial } from "./alert.ts";
import { flood } from "./flood.ts";

/** The folder that is a small disk. */
export const STATE = ".glovebox";
const ASK_MS = 10_000;

/** What a server has on it, besides its store of calls. */
export const DISK_CONFIG = `admin: open
maxLimits: { capabilityCalls: 10000 }
audit: ./${STATE}/audit.jsonl
assets: { path: ./${STATE}/assets }
`;

export const DISK_TOOLS: Readonly<Record<string, string>> = {
  "tools/nosy.js": `export const spec = { name: "nosy", description: "Asks for what there is not.",
  limits: { capabilityCalls: 10000, cpuMs: 20000, wallMs: 30000 } };
export default async ({ times }, { host }) => {
  for (let at = 0; at < times; at++) await host.vault.look().catch(() => undefined);
  return times;
};\n`,
};

export const DISK_TRIALS: readonly Trial[] = [
  {
    alerts: ["GloveboxCallsStoreDown", "GloveboxAuditLost", "GloveboxServerErrors"],
    fault: "disk-full",
    what: "The disk with the state folder, the audit and the assets is full. A tool asks for things all the time, each of which is an entry of the audit, and somebody uploads assets.",
    heals: "There is room again, and no entry was lost for ten minutes.",
    bring: async (stage) => {
      const { scene } = stage;
      const empty = fill(scene, STATE);
      const asks = { name: "nosy", key: null, args: { times: 5_000 } };
      const overs = [
        flood(1, 500, async () => void fill(scene, STATE)),
        flood(1, 200, () => upload(stage)),
        flood(1, 200, () => ask(scene.server.url, asks)),
      ];
      return async () => {
        for (const over of overs) await over();
        empty();
      };
    },
  },
];

async function upload({ scene: { server } }: Stage): Promise<void> {
  const form = new FormData();
  const metadata = { asset_name: "sample-v1", asset_version: { version: "1.0" } };
  form.append("asset_metadata", JSON.stringify(metadata));
  form.append("asset", new Blob([Buffer.alloc(100_000, "PK")]), "sample.zip");
  const response = await fetch(`${server.url}/upload_asset`, {
    method: "POST",
    body: form,
    signal: AbortSignal.timeout(ASK_MS),
  });
  await response.arrayBuffer();
}
