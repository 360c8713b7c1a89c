import type { HostAccount } from "../../base/tenant-account.ts";
import type { CallBinary, Capability, OpenCall } from "../capabilities/capability.ts";
import { type BinaryFiles, HELD_ELSEWHERE, type HeldBinary } from "../capabilities/native/binaries.ts";
import type { RunningMethod } from "../method-call.ts";
import type { BrokerThread } from "./broker-thread.ts";

/** A capability whose methods the broker thread carries out. */
export interface RemoteCapability extends Pick<Capability, "name" | "grants" | "methods"> {
  readonly kind: "remote";
  /** Starts the thread, if it has not started. */
  start(): void;
  open(call: OpenCall, grants: readonly unknown[], account: HostAccount): RemoteSession;
  close(): Promise<void>;
}

/** A remote capability as it serves one call. */
export interface RemoteSession {
  /** Sends a method with its arguments as JSON, which this thread does not read. */
  request(method: string, label: string, args: string): RunningMethod;
  /** Aborts its methods; resolves when all resources are released. Never rejects. */
  close(): Promise<void>;
}

/** A capability as the broker has it: here, or on the broker thread. */
export type PlacedCapability = Capability | RemoteCapability;

/**
 * Places a capability on the broker thread, which has one of the same name. Never opens the one given. `binaries`: files
 * of the tools of `native`, which are held for as long as a session lasts.
 */
export function remoteCapability(
  { name, grants, methods }: Capability,
  thread: BrokerThread,
  binaries: BinaryFiles = HELD_ELSEWHERE,
): RemoteCapability {
  return {
    kind: "remote",
    name,
    grants,
    methods,
    start: () => thread.start(),
    open: (call, values, account) => {
      const { binary } = call;
      const held = binary === undefined ? null : hold(binaries, binary);
      const sent = held === null || binary === undefined ? null : { ...binary, file: held.path };
      const session = thread.open(name, call, values, account, sent);
      return {
        request: (method, label, args) => {
          // A method that may or may not read counts as an effect until the thread tells.
          const effects = Object.hasOwn(methods, method) && methods[method]?.isRead === true ? 0 : 1;
          return { kind: "running", effects, end: thread.request(session, method, label, args, effects) };
        },
        close: async () => {
          await thread.end(session);
          held?.[Symbol.dispose]();
        },
      };
    },
    close: async () => {
      await thread.close();
      await binaries.close();
    },
  };
}

/** `null` where the binary has been removed: the thread refuses its run. */
function hold(binaries: BinaryFiles, { file }: CallBinary): HeldBinary | null {
  try {
    return binaries.hold(file);
  } catch {
    return null;
  }
}
