import { kvOpener } from "../capabilities/kv/kv.ts";
import type { OpenModule } from "../capabilities/module-capability.ts";
import type { SecretViolation } from "../capabilities/secrets/placeholders.ts";
import { Secrets } from "../capabilities/secrets/secrets.ts";
import { threadCapabilities } from "../capabilities/thread-capabilities.ts";
import { shareGroups } from "../../base/os/cgroup.ts";
import type { EnginePort } from "./engine-port.ts";
import type { ThreadSettings } from "./messages.ts";
import type { PipeServer } from "./pipe-server.ts";
import { ThreadServer } from "./thread-server.ts";

/** Serves an engine with its settings. Rejects if a package's module cannot be imported. */
export async function serve(port: EnginePort, pipes: PipeServer, settings: ThreadSettings): Promise<ThreadServer> {
  const { fetch, environment, kv, host, hasLookup, groups } = settings;
  const imported = await Promise.all(
    settings.modules.map(async (told) => {
      const { open } = (await import(told.module)) as { readonly open: OpenModule };
      return { ...told, open };
    }),
  );
  const openKv = await kvOpener(kv);
  if (groups !== null) shareGroups(groups);
  const secrets = new Secrets(settings.secrets, {}, alreadyWarned);
  const createParts = (own: ThreadServer) => {
    const onSecretViolation = (violation: SecretViolation): void => own.tell({ kind: "violation", violation });
    const options = hasLookup ? { ...fetch, lookup: (hostname: string) => own.lookup(hostname) } : fetch;
    const modules = imported.map(({ name, open, state }) => {
      const opened = open({
        fetch: options,
        secrets,
        onSecretViolation,
        ask: (question, signal) => own.ask(name, question, signal),
        tell: (report) => own.tell({ kind: "report", capability: name, report }),
      });
      if (state !== undefined) opened.use?.(state);
      return [name, opened] as const;
    });
    const parts = { environment, fetch: options, openKv, secrets, onSecretViolation };
    return { capabilities: threadCapabilities(parts), host, modules: new Map(modules) };
  };
  return new ThreadServer(port, createParts, pipes);
}

/** The embedder's thread has read the same options, and has warned. */
function alreadyWarned(): void {}
