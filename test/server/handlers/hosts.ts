/** Servers in which Glovebox is mounted, each below `/tools` and beside a route of its own. */
import { createServer as createNodeServer, type IncomingMessage, type Server } from "node:http";
import express from "express";
import express4 from "express4";
import { fastify, type FastifyRequest } from "fastify";
import { Hono } from "hono";
import type { Engine } from "../../../src/glovebox/index.ts";
import { gloveboxFastify } from "../../../src/server/handlers/fastify.ts";
import {
  type FetchHandler,
  type HandlerOptions,
  type Mounted,
  toFetchHandler,
  toNodeHandler,
} from "../../../src/server/handlers/index.ts";
import { createWebServer, listen } from "./web-server.ts";

/** What all hosts may be given. `authenticate` reads a header only, which they all have. */
export interface HostOptions extends Omit<HandlerOptions<never>, "authenticate" | "basePath"> {
  readonly authenticate?: (
    header: string | undefined,
  ) => ReturnType<NonNullable<HandlerOptions<never>["authenticate"]>>;
}

/** A server that listens. */
export interface Host extends AsyncDisposable {
  /** Address of the mount. */
  readonly url: string;
  /** Address of the application's own route, which answers `here`. */
  readonly ownUrl: string;
  readonly drain: Mounted["drain"];
}

type Open = (engine: Engine, options: HostOptions) => Promise<Host>;

/** The header in which these applications' clients say who they are. */
export const WHO = "x-user";
/** Above that of every body that a test sends. */
const PARSED_MAX = "1mb";

export const HOSTS: Readonly<Record<string, Open>> = {
  "node:http": async (engine, options) => {
    const handler = toNodeHandler(engine, { ...nodeOptions(options), basePath: "/tools" });
    const server = createNodeServer((request, response) =>
      handler(request, response, () => void response.writeHead(request.url === "/own" ? 200 : 404).end("here")),
    );
    return hostOf(server, (how) => handler.drain(how));
  },
  "Express 4": (engine, options) => openExpress(express4(), engine, options),
  "Express 4 with express.json()": (engine, options) =>
    openExpress(express4().use(express4.json({ limit: PARSED_MAX })), engine, options),
  "Express 5": (engine, options) => openExpress(express(), engine, options),
  "Express 5 with express.json()": (engine, options) =>
    openExpress(express().use(express.json({ limit: PARSED_MAX })), engine, options),
  Fastify: async (engine, { authenticate, ...options }) => {
    const app = fastify({ forceCloseConnections: true });
    const who = ({ headers }: FastifyRequest) => authenticate?.(one(headers[WHO])) ?? null;
    const how = authenticate === undefined ? {} : { authenticate: who };
    await app.register(gloveboxFastify, { engine, prefix: "/tools", ...options, ...how });
    app.get("/own", () => "here");
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    const close = () => app.close();
    return { url: `${url}/tools`, ownUrl: `${url}/own`, drain: close, [Symbol.asyncDispose]: close };
  },
  Hono: async (engine, { authenticate, ...options }) => {
    const who = ({ headers }: Request) => authenticate?.(headers.get(WHO) ?? undefined) ?? null;
    const how = authenticate === undefined ? {} : { authenticate: who };
    const handler: FetchHandler = toFetchHandler(engine, { ...options, ...how, basePath: "/tools" });
    const app = new Hono().all("/tools/*", ({ req }) => handler(req.raw)).get("/own", (c) => c.text("here"));
    return hostOf(
      createWebServer((request) => app.fetch(request)),
      (how) => handler.drain(how),
    );
  },
};

async function openExpress(app: express.Express, engine: Engine, options: HostOptions): Promise<Host> {
  const handler = toNodeHandler(engine, nodeOptions(options));
  app.use("/tools", handler);
  app.get("/own", (_request, response) => void response.send("here"));
  return hostOf(createNodeServer(app), (how) => handler.drain(how));
}

function nodeOptions({ authenticate, ...options }: HostOptions): HandlerOptions<IncomingMessage> {
  if (authenticate === undefined) return options;
  return { ...options, authenticate: ({ headers }) => authenticate(one(headers[WHO])) };
}

async function hostOf(server: Server, drain: Mounted["drain"]): Promise<Host> {
  const url = await listen(server);
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { url: `${url}/tools`, ownUrl: `${url}/own`, drain, [Symbol.asyncDispose]: close };
}

function one(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" ? header : undefined;
}
