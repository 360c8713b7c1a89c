import { afterEach, expect, test, vi } from "vitest";
import type { CapabilityResponse } from "../../../../src/kernel/base/protocol/capability-call.ts";
import { DEFAULT_LIMITS } from "../../../../src/kernel/base/limits.ts";
import { createCapabilities } from "../../../../src/kernel/broker/capabilities/built-in.ts";
import type { CapabilityRequest } from "../../../../src/kernel/broker/capabilities/capability.ts";
import { CONNECTOR } from "../../../../src/connectors/capability/methods.ts";
import { defineCapability } from "../../../../src/kernel/broker/capabilities/custom.ts";
import { Binaries } from "../../../../src/kernel/broker/binaries.ts";
import { type SecretOptions, Secrets } from "../../../../src/kernel/broker/capabilities/secrets/secrets.ts";
import type { SessionEnd } from "../../../../src/kernel/broker/call-session.ts";
import type { CapabilityEvent } from "../../../../src/kernel/broker/capability-event.ts";
import { BrokerClient, type BrokerClientOptions } from "../../../../src/kernel/broker/thread/broker-client.ts";
import type { BrokerPlace } from "../../../../src/kernel/broker/thread/start.ts";
import { serve } from "../capabilities/fetch/server.ts";

const SCRATCH: CapabilityRequest = { fs: { scratch: { mode: "rw" } } };
/** Time for a thread or process to start on a busy machine. */
export const STARTED = { timeout: 120_000 };

interface World extends Partial<Pick<BrokerClientOptions, "lookup" | "onViolation" | "onDeath" | "restartMs">> {
  readonly allow?: CapabilityRequest;
  readonly secrets?: { readonly [name: string]: SecretOptions };
  readonly onOutcome?: (event: CapabilityEvent) => void;
}

/** What the handler of the embedder was called with. */
const handled: unknown[] = [];
const notes = defineCapability({
  name: "notes",
  methods: { add: { handler: (args: unknown) => handled.push(args) }, never: { handler: () => new Promise(() => {}) } },
});

/** Opens brokers in one place, and closes them after each test. */
export function opener(place: BrokerPlace): (world?: World) => BrokerClient {
  const clients: BrokerClient[] = [];
  afterEach(async () => {
    handled.length = 0;
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });
  return ({ allow = SCRATCH, secrets: options = {}, ...given } = {}) => {
    const silent = {
      lookup: undefined,
      onOutcome: () => {},
      onViolation: () => {},
      onThrottled: () => {},
      onDeath: () => {},
    };
    const secrets = new Secrets(options, {});
    const kv = { path: ":memory:", maxBytes: 1024 * 1024 };
    const parts = { environment: {}, fetch: {}, secrets };
    const client = new BrokerClient({
      ...silent,
      ...given,
      capabilities: createCapabilities({
        ...parts,
        modules: [CONNECTOR],
        custom: [notes],
        onSecretViolation: () => {},
      }),
      policy: { rules: [{ allow }] },
      binaries: new Binaries(),
      modules: [CONNECTOR],
      place,
      settings: { fetch: {}, secrets: options, environment: {}, kv, listens: false },
    });
    clients.push(client);
    return client;
  };
}

let lastCall = 0;

/** A call that asks for all of that, and may have what the broker's policy allows of it. */
export function openSession(client: BrokerClient, requested: CapabilityRequest = SCRATCH, isRecorded = false) {
  const session = client.open({
    callNumber: ++lastCall,
    version: {},
    trace: null,
    callId: "c",
    tool: "t",
    tags: [],
    registrant: "operator",
    digest: "",
    tenant: "a",
    requested,
    narrowed: undefined,
    limits: DEFAULT_LIMITS,
    isRecorded,
    isHeard: true,
    callTool: () => Promise.reject(new Error("there are no other tools")),
  });
  let step = 0;
  const request = (name: string, args: unknown, text = JSON.stringify(args)): Promise<CapabilityResponse> => {
    const [capability = "", method = ""] = name.split(".");
    const ask = { step: ++step, attempt: 1, nowMs: 1_000, capability, method, args: text };
    return new Promise((resolve, reject) =>
      session.ask(ask, (response) =>
        response.kind === "diverged" ? reject(new Error(response.message)) : resolve(response),
      ),
    );
  };
  const end = async (): Promise<SessionEnd> => {
    const ended = await session.end({ attempt: 1 });
    if (ended === null) throw new Error("the call has asked nothing");
    return ended;
  };
  return { session, request, end };
}

const requestOf = (url: string, headers: readonly (readonly [string, string])[] = []) => ({
  id: 1,
  url,
  method: "GET",
  headers,
  body: null,
  redirect: "follow",
});
const fetching = (origin: string): CapabilityRequest => ({ fetch: { origins: [], privateOrigins: [origin] } });
/** The policy alone names private origins. */
const asking = (origin: string): CapabilityRequest => ({ fetch: { origins: [origin] } });

function valueOf(response: CapabilityResponse): unknown {
  if (response.kind !== "value") throw new Error(JSON.stringify(response));
  return JSON.parse(response.json);
}

function messageOf(response: CapabilityResponse): string {
  return response.kind === "value" ? response.json : `${response.failure.code}: ${response.failure.message}`;
}

/** Ends the broker as a defect of it does. */
function breakDown(client: BrokerClient): void {
  const side = { answer: () => Promise.resolve("{}"), onReport: () => undefined };
  const setState = client.join(CONNECTOR.name, side);
  setState([null]);
  setState([]);
}

/** Tests that hold in either place. */
export function testBroker(place: BrokerPlace): void {
  const openBroker = opener(place);

  test("carries out capability calls in their order, and charges its time to the call", async () => {
    const client = openBroker();
    const { request, session, end } = openSession(client);
    expect((await request("fs.writeFile", { path: "/scratch/a", data: { text: "hello" } })).kind).toBe("value");
    expect(valueOf(await request("fs.readFile", { path: "/scratch/a", encoding: "utf8" }))).toEqual({
      value: { text: "hello" },
    });
    expect(await end()).toMatchObject({ effects: 1, isBehind: false, lastRefusal: null });
    expect(session.account).toMatchObject({ asks: 2, mainMs: 0, journalBytes: 0, inFlightBytes: 0 });
    expect(session.account.brokerMs).toBeGreaterThan(0);
    expect(client.accounts.total.usage()).toEqual(session.account.usage());
  });

  test("tells what a running call holds and has used, until it gives it back", async () => {
    const client = openBroker();
    const { request, session, end } = openSession(client);
    await request("fs.stat", { path: "/scratch" });
    await expect.poll(() => client.accounts.total.asks, STARTED).toBe(1);
    expect(session.account.journalBytes).toBeGreaterThan(0);
    await end();
    expect(session.account.journalBytes).toBe(0);
  });

  test("refuses arguments that do not match a method's schema, and methods that do not exist", async () => {
    const { request, end } = openSession(openBroker());
    const asked = [request("fs.stat", { path: 1 }), request("fs.stat", null, "{"), request("fs.format", {})];
    expect((await Promise.all(asked)).map((response) => messageOf(response).split(":")[0])).toEqual(
      Array.from({ length: 3 }, () => "capability_failed"),
    );
    expect((await end()).effects).toBe(0);
  });

  test("refuses what is not granted, with what grants it", async () => {
    const client = openBroker({ allow: fetching("http://127.0.0.1:1") });
    const { request, end } = openSession(client, { fetch: { origins: ["http://127.0.0.1:1"] } });
    expect(messageOf(await request("fetch.request", requestOf("https://other.example.com/")))).toContain(
      "capability_denied",
    );
    expect(messageOf(await request("kv.get", { key: "a" }))).toContain('does not ask for the capability "kv"');
    const { effects, lastRefusal } = await end();
    expect([effects, lastRefusal?.capability, lastRefusal?.remedies?.length]).toEqual([0, "kv", 2]);
  });

  test("has the embedder's thread call its own handlers, and nothing else", async () => {
    const { request, session, end } = openSession(openBroker({ allow: { notes: true } }), { notes: true });
    expect(valueOf(await request("notes.add", { a: 1 }))).toBe(1);
    expect(handled).toEqual([{ a: 1 }]);
    expect((await end()).effects).toBe(1);
    expect(session.account.mainMs).toBeGreaterThan(0);
  });

  test("tells of each capability call in its order, with a hash of the arguments for those who listen", async () => {
    const events: CapabilityEvent[] = [];
    const client = openBroker({ allow: { notes: true }, onOutcome: (event) => events.push(event) });
    const { request, end } = openSession(client, { notes: true });
    await request("notes.add", 1);
    await request("env.get", { name: "A" });
    await end();
    expect(events.map(({ step, capability, outcome, rules }) => [step, capability, outcome, rules])).toEqual([
      [1, "notes", "ok", [0]],
      [2, "env", "denied", []],
    ]);
    expect(events[0]).toMatchObject({ callId: "c", tenant: "a", argsLength: 1, answerLength: 1 });
    expect(events[0]?.argsHash).toMatch(/^6b86b273ff34fce1/);
  });

  test("gives the plan of a further attempt, and the journal of a recorded call", async () => {
    const { request, session, end } = openSession(openBroker({ allow: { notes: true } }), { notes: true }, true);
    expect(await session.plan()).toBe("");
    const response = await request("notes.add", 1);
    expect(JSON.parse((await session.plan()) ?? "")).toMatchObject({ asked: 1, responses: [[1, response.nowMs]] });
    const { journal } = await end();
    expect(journal?.asks).toEqual([{ capability: "notes", method: "add", args: "1" }]);
    expect(journal?.answers).toMatchObject([{ step: 1, ok: true, payload: "1" }]);
  });

  test("sends requests, and asks the embedder for addresses of names", async () => {
    await using server = await serve((_request, response) => response.end("hello"));
    const { port } = new URL(server.origin);
    const lookup = vi.fn(async () => ["127.0.0.1"]);
    const origin = `http://name.test:${port}`;
    const { request, end } = openSession(openBroker({ lookup, allow: fetching(origin) }), asking(origin));
    expect(valueOf(await request("fetch.request", requestOf(`${origin}/`)))).toMatchObject({ status: 200 });
    // A GET request has no effect.
    expect((await end()).effects).toBe(0);
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
    const client = openBroker({ secrets, onViolation, allow: { ...fetching(server.origin), secrets: ["KEY"] } });
    const { request } = openSession(client, { ...asking(server.origin), secrets: ["KEY"] });
    const place = (header: string) =>
      request("fetch.request", requestOf(`${server.origin}/`, [[header, "glovebox.secret.KEY."]]));
    expect(valueOf(await place("authorization"))).toMatchObject({ status: 200 });
    expect((await place("x-other")).kind).toBe("failure");
    expect(seen).toEqual(["correct-horse"]);
    expect(onViolation).toHaveBeenCalledTimes(1);
  });

  test("aborts the methods of a call that ends, and answers it no more", async () => {
    await using server = await serve(() => {});
    const { request, end } = openSession(openBroker({ allow: fetching(server.origin) }), asking(server.origin));
    const respond = vi.fn();
    void request("fetch.request", requestOf(server.origin)).then(respond);
    await expect.poll(() => server.seen.length, STARTED).toBe(1);
    await end();
    await expect.poll(() => server.open(), STARTED).toBe(0);
    expect(respond).not.toHaveBeenCalled();
  });

  test("fails the capability calls under way when it dies, and starts again for later ones", async () => {
    await using server = await serve(() => {});
    const onDeath = vi.fn();
    const client = openBroker({ onDeath, restartMs: 0, allow: { ...fetching(server.origin), ...SCRATCH } });
    const { request, session, end } = openSession(client, { ...asking(server.origin), ...SCRATCH });
    const asked = request("fetch.request", requestOf(server.origin));
    await expect.poll(() => server.seen.length, STARTED).toBe(1);
    breakDown(client);
    expect(messageOf(await asked)).toContain(`fetch.request failed: the broker ${place} ended`);
    expect(onDeath).toHaveBeenCalledTimes(1);
    // The call goes on, and cannot be repeated.
    expect((await request("fs.stat", { path: "/scratch" })).kind).toBe("value");
    expect(await session.plan()).toBeNull();
    expect((await end()).effects).toBeGreaterThan(0);
    expect((await openSession(client).request("fs.stat", { path: "/scratch" })).kind).toBe("value");
  });

  test("is not started again at once if it dies at its start", async () => {
    const onDeath = vi.fn();
    const client = openBroker({ onDeath, restartMs: 60_000 });
    client.start();
    breakDown(client);
    await expect.poll(() => onDeath.mock.calls.length, STARTED).toBe(1);
    const { request, end } = openSession(client);
    expect(messageOf(await request("fs.stat", { path: "/scratch" }))).toContain(`the broker ${place} ended`);
    expect((await end()).effects).toBe(0);
    expect(onDeath).toHaveBeenCalledTimes(1);
  });

  test("closes while methods run, and does nothing afterwards", async () => {
    await using server = await serve(() => {});
    const onDeath = vi.fn();
    const client = openBroker({ onDeath, allow: fetching(server.origin) });
    const { request, end } = openSession(client, asking(server.origin));
    const asked = request("fetch.request", requestOf(server.origin));
    await expect.poll(() => server.seen.length, STARTED).toBe(1);
    await client.close();
    expect((await asked).kind).toBe("failure");
    await end();
    expect(onDeath).not.toHaveBeenCalled();
    expect((await openSession(client).request("fs.stat", {})).kind).toBe("failure");
  });
}
