import { expect, test } from "vitest";
import { type AuditAct, createEngine } from "../../../../src/glovebox/index.ts";
import type { DurableCall } from "../../../../src/kernel/store/calls/durable/durable-call.ts";

test("the audit says who decided, signalled and cancelled what, without values, and of what was refused nothing", async () => {
  const acts: AuditAct[] = [];
  const audited = await createEngine({
    workers: 1,
    executor: { kind: "threads" },
    policy: { rules: [{ allow: { pause: true } }] },
    audit: (entry) => void ("act" in entry && "callId" in entry && acts.push(entry)),
  });
  const secret = "hunter2";
  await audited.register({
    name: "tell",
    description: "Tells.",
    approval: "always",
    source: "export default (input) => input;",
  });
  await audited.register({
    name: "wait",
    description: "Waits.",
    capabilities: { pause: true },
    source: "export default (input, { host }) => host.pause.signal({ name: 'payment' });",
  });
  const paused = async (name: string): Promise<DurableCall> => {
    const { error } = await audited.execute({ name, arguments: { secret } }, { tenant: "acme" });
    const call = await audited.calls.durable.get(error?.code === "paused" ? (error.details?.id ?? "") : "");
    if (call === undefined) throw new Error("nothing waits");
    return call;
  };
  const { durable } = audited.calls;
  const [tell, refused, signalled, cancelled] = [
    await paused("tell"),
    await paused("tell"),
    await paused("wait"),
    await paused("wait"),
  ];
  const digestOf = ({ waits: [wait] }: DurableCall) => (wait?.kind === "approval" ? wait.digest : "none");
  await expect(durable.decide(tell.id, { decision: "approve", digest: "another" })).rejects.toThrow();
  const edited = { secret: `${secret}!` };
  const approval = {
    decision: "approve",
    digest: digestOf(tell),
    arguments: edited,
    actor: "ada@example.com",
  } as const;
  await durable.decide(tell.id, approval, { key: "boss" });
  await durable.decide(refused.id, { decision: "refuse", reason: secret }, { key: "boss" });
  await durable.signal(signalled.id, "payment", { secret }, { key: "till" });
  await durable.cancel(cancelled.id, secret, { key: "till" });
  await expect(durable.cancel(cancelled.id)).rejects.toThrow("has ended");
  await durable.result(signalled.id, {}, { waitMs: 120_000 });
  await audited.close();
  const of = ({ id, callId, tool }: DurableCall) => ({ time: expect.any(String), id, callId, tool, tenant: "acme" });
  const decided = (call: DurableCall) => ({ ...of(call), act: "decide", key: "boss", step: 0, digest: digestOf(call) });
  expect(acts).toEqual([
    { ...decided(tell), decision: "approve", actor: "ada@example.com", isEdited: true },
    { ...decided(refused), decision: "refuse", actor: null, isEdited: false },
    { ...of(signalled), act: "signal", key: "till", signal: "payment" },
    { ...of(cancelled), act: "cancel", key: "till" },
  ]);
  expect(JSON.stringify(acts)).not.toContain(secret);
});
