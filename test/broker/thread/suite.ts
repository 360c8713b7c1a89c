import { afterEach, expect, test, vi } from "vitest";
import { HostAccount, TenantAccounts } from "../../../src/base/tenant-account.ts";
import type { Capability, OpenCall } from "../../../src/broker/capabilities/capability.ts";
import { createFetch } from "../../../src/broker/capabilities/fetch/fetch.ts";
import { fetchGrants } from "../../../src/broker/capabilities/fetch/grants.ts";
import { createFs } from "../../../src/broker/capabilities/fs/fs.ts";
import { mountGrants } from "../../../src/broker/capabilities/fs/mounts.ts";
import { type SecretOptions, Secrets } from "../../../src/broker/capabilities/secrets/secrets.ts";
import type { EndedMethod } from "../../../src/broker/method-call.ts";
import { BrokerThread, type BrokerThreadOptions } from "../../../src/broker/thread/broker-thread.ts";
import type { BrokerPlace } from "../../../src/broker/thread/start.ts";
import { remoteCapability } from "../../../src/broker/thread/remote-capability.ts";
import { serve } from "../capabilities/fetch/server.ts";

const SCRATCH = mountGrants.read({ scratch: { mode: "rw" } }, "policy");
/** Time for a thread or process to start on a busy machine. */
export const STARTED = { timeout: 10_000 };

interface World extends Partial<Omit<BrokerThreadOptions, "settings" | "place">> {
  readonly secrets?: { readonly [name: string]: SecretOptions };
}

/** Opens threads in one place, and closes them after each test. */
export function opener(place: BrokerPlace): (world?: World) => BrokerThread {
  const threads: BrokerThread[] = [];
  afterEach(async () => {
    await Promise.all(threads.splice(0).map((thread) => thread.close()));
  });
  return ({ secrets = {}, ...options } = {}) => {
    const silent = {
      lookup: undefined,
      onViolation: () => {},
      onThrottled: () => {},
      onLogin: () => {},
      onDeath: () => {},
      callTool: () => Promise.resolve("{}"),
    };
    const thread = new BrokerThread({ ...silent, ...options, place, settings: { fetch: {}, secrets } });
    threads.push(thread);
    return thread;
  };
}

export function openSession(
  thread: BrokerThread,
  capability: Capability,
  grants: readonly unknown[],
  secrets: string[] = [],
) {
  const account = new HostAccount("a", new TenantAccounts().of("a"));
  const call: OpenCall = {
    callId: "c",
    tool: "t",
    tenant: "a",
    signal: new AbortController().signal,
    callTool: () => Promise.reject(new Error("there are no other tools")),
    grantsOf: (name) => (name === "secrets" && secrets.length > 0 ? [secrets] : []),
  };
  const session = remoteCapability(capability, thread).open(call, grants, account);
  const request = (method: string, args: unknown, text = JSON.stringify(args)) =>
    session.request(method, `${capability.name}.${method}`, text);
  return { account, request, close: () => session.close() };
}

export const fs = () => createFs() as Capability;
const fetching = () => createFetch(new Secrets({}, {})) as Capability;
const grantOf = (origin: string) => [fetchGrants.read({ origins: [], privateOrigins: [origin] }, "policy")];
const requestOf = (url: string, headers: readonly (readonly [string, string])[] = []) => ({
  id: 1,
  url,
  method: "GET",
  headers,
  body: null,
  redirect: "follow",
});

function valueOf({ outcome }: EndedMethod): unknown {
  if (outcome.kind !== "value") throw new Error(JSON.stringify(outcome));
  return JSON.parse(outcome.json);
}

/** Tests that hold in either place. */
export function testBroker(place: BrokerPlace): void {
  const openThread = opener(place);

  test("carries out methods in their order, and charges its time to the call", async () => {
    const { request, account, close } = openSession(openThread(), fs(), [SCRATCH]);
    const written = request("writeFile", { path: "/scratch/a", data: { text: "hello" } });
    const read = request("readFile", { path: "/scratch/a", encoding: "utf8" });
    expect([(await written.end).outcome.kind, (await read.end).outcome.kind]).toEqual(["value", "value"]);
    expect(account.brokerMs).toBeGreaterThan(0);
    expect(account.mainMs).toBe(0);
    await close();
  });

  test("refuses arguments that do not match a method's schema, and methods that do not exist", async () => {
    const { request } = openSession(openThread(), fs(), [SCRATCH]);
    const outcomes = await Promise.all(
      [request("stat", { path: 1 }), request("stat", null, "{"), request("format", {})].map(async ({ end }) => {
        const { outcome, effects } = await end;
        return [outcome.kind, effects];
      }),
    );
    expect(outcomes).toEqual([
      ["failed", 0],
      ["failed", 0],
      ["failed", 0],
    ]);
  });

  test("refuses what is not granted with the same texts as without a thread", async () => {
    const { request } = openSession(openThread(), fetching(), grantOf("http://127.0.0.1:1"));
    const { end, effects } = request("request", requestOf("https://other.example.com/"));
    expect(effects).toBe(1);
    expect(await end).toMatchObject({
      effects: 0,
      outcome: { kind: "refused", outcome: "denied", refused: { asked: "GET https://other.example.com/" } },
    });
  });

  test("sends requests, and asks the embedder for addresses of names", async () => {
    await using server = await serve((_request, response) => response.end("hello"));
    const { port } = new URL(server.origin);
    const lookup = vi.fn(async () => ["127.0.0.1"]);
    const origin = `http://name.test:${port}`;
    const { request } = openSession(openThread({ lookup }), fetching(), grantOf(origin));
    const ended = await request("request", requestOf(`${origin}/`)).end;
    expect(valueOf(ended)).toMatchObject({ status: 200 });
    // A GET request has no effect, which only the thread can tell.
    expect(ended.effects).toBe(0);
    expect(lookup).toHaveBeenCalledWith("name.test");
  });

  test("fills in secrets, and tells the embedder where one has no place", async () => {
    const seen: (string | undefined)[] = [];
    await using server = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    const onViolation = vi.fn();
    const secrets = { KEY: { value: "correct-horse", bind: [{ origin: server.origin }] } };
    const thread = openThread({ secrets, onViolation });
    const { request } = openSession(thread, fetching(), grantOf(server.origin), ["KEY"]);
    const place = (header: string) =>
      request("request", requestOf(`${server.origin}/`, [[header, "glovebox.secret.KEY."]])).end;
    expect(valueOf(await place("authorization"))).toMatchObject({ status: 200 });
    expect((await place("x-other")).outcome.kind).toBe("refused");
    expect(seen).toEqual(["correct-horse"]);
    expect(onViolation).toHaveBeenCalledTimes(1);
  });

  test("aborts the methods of a call that ends, and releases what it held", async () => {
    await using server = await serve(() => {});
    const { request, close } = openSession(openThread(), fetching(), grantOf(server.origin));
    const { end } = request("request", requestOf(server.origin));
    await expect.poll(() => server.seen.length, STARTED).toBe(1);
    await close();
    expect((await end).outcome.kind).toBe("failed");
    await expect.poll(() => server.open(), STARTED).toBe(0);
    expect((await request("request", requestOf(server.origin)).end).outcome.kind).toBe("failed");
  });

  test("fails the methods under way when it dies, and starts again for later calls", async () => {
    await using server = await serve(() => {});
    const onDeath = vi.fn();
    const thread = openThread({ onDeath, restartMs: 0 });
    const { request, close } = openSession(thread, fetching(), grantOf(server.origin));
    const { end } = request("request", requestOf(server.origin));
    await expect.poll(() => server.seen.length, STARTED).toBe(1);
    const unknown = { ...fs(), name: "unknown" };
    openSession(thread, unknown, []);
    expect(await end).toEqual({
      kind: "ended",
      effects: 1,
      outcome: { kind: "failed", message: expect.stringContaining(`fetch.request failed: the broker ${place} ended`) },
    });
    expect(onDeath).toHaveBeenCalledTimes(1);
    await close();
    expect((await request("request", requestOf(server.origin)).end).outcome.kind).toBe("failed");
    const { request: again } = openSession(thread, fs(), [SCRATCH]);
    expect((await again("stat", { path: "/scratch" }).end).outcome.kind).toBe("value");
  });

  test("is not started again at once if it dies at its start", async () => {
    const onDeath = vi.fn();
    const thread = openThread({ onDeath, restartMs: 60_000 });
    openSession(thread, { ...fs(), name: "unknown" }, []);
    await expect.poll(() => onDeath.mock.calls.length, STARTED).toBe(1);
    const { request } = openSession(thread, fs(), [SCRATCH]);
    expect((await request("stat", { path: "/scratch" }).end).outcome.kind).toBe("failed");
    expect(onDeath).toHaveBeenCalledTimes(1);
  });

  test("closes while methods run, and does nothing afterwards", async () => {
    await using server = await serve(() => {});
    const onDeath = vi.fn();
    const thread = openThread({ onDeath });
    const { request } = openSession(thread, fetching(), grantOf(server.origin));
    const { end } = request("request", requestOf(server.origin));
    await expect.poll(() => server.seen.length, STARTED).toBe(1);
    await thread.close();
    expect((await end).outcome.kind).toBe("failed");
    expect(onDeath).not.toHaveBeenCalled();
    expect((await openSession(thread, fs(), [SCRATCH]).request("stat", {}).end).outcome.kind).toBe("failed");
  });
}
