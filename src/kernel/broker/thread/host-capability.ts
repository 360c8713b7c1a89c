import type { CapabilityCall } from "../../base/protocol/capability-call.ts";
import { nameGrants, wholeGrants } from "../capabilities/names.ts";
import type { Capability, GrantKind } from "../capabilities/capability.ts";
import type { EndedMethod, RunningMethod } from "../method-call.ts";

/** A capability of the embedder's thread: how its grants combine, and its methods without effects. */
export interface HostCapabilityShape {
  readonly name: string;
  readonly grants: "names" | "whole";
  readonly reads: readonly string[];
}

/** A capability whose methods the embedder's thread carries out: its handlers are closures of that thread. */
export interface HostCapability extends Pick<Capability, "name" | "grants"> {
  readonly kind: "host";
  /** Methods without effects. */
  readonly reads: readonly string[];
  /**
   * Sends a method with its arguments as JSON, which this thread does not read. `label`: its name in messages. `grants`:
   * the values that the call is granted.
   */
  request(callNumber: number, call: CapabilityCall, label: string, grants: readonly unknown[]): RunningMethod;
  close?(): void;
}

/** A capability as the broker has it: on its own thread, or on the embedder's. */
export type PlacedCapability = Capability | HostCapability;

/** One method for the embedder's thread. */
export interface HostMethod {
  readonly call: number;
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  /** `tools.call`, for messages. */
  readonly label: string;
  readonly args: string;
  /** The values that the call is granted of the capability. */
  readonly grants: readonly unknown[];
}

/** Has the embedder's thread carry out a method. */
export type CarryOut = (method: HostMethod) => Promise<EndedMethod>;

export function hostCapability({ name, grants, reads }: HostCapabilityShape, carryOut: CarryOut): HostCapability {
  return {
    kind: "host",
    name,
    reads,
    grants: (grants === "names" ? nameGrants : wholeGrants) as GrantKind<unknown>,
    request: (call, { step, method, args }, label, values) => ({
      kind: "running",
      // A method that is not known to be a read counts as an effect until the embedder's thread reports.
      effects: reads.includes(method) ? 0 : 1,
      end: carryOut({ call, step, capability: name, method, label, args, grants: values }),
    }),
  };
}

/** A capability of the embedder's thread, as the broker thread needs it. */
export function shapeOf(
  { name, methods }: Pick<Capability, "name" | "methods">,
  grants: HostCapabilityShape["grants"],
) {
  const reads = Object.keys(methods).filter((method) => methods[method]?.isRead === true);
  return { name, grants, reads } satisfies HostCapabilityShape;
}
