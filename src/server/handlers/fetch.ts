import type { Engine } from "../../kernel/engine/engine.ts";
import { MountedApp } from "./mounted-app.ts";
import { below } from "./node.ts";
import { type HandlerOptions, type Mounted, readOptions, type Settings } from "./options.ts";
import { openPair } from "./web-pair.ts";

/** A handler for servers that speak the web's `Request` and `Response`: Hono, Next and alike. */
export interface FetchHandler extends Mounted {
  (request: Request): Promise<Response>;
}

/**
 * Makes a handler of an engine's routes, for a server with `Request` and `Response`. A function that returns the engine
 * is called with the first request: for frameworks such as Next, which evaluate a route's module when they build. It is
 * called again if it failed, or if that engine has been closed. Throws a `TypeError` if an option is invalid, or if no
 * option defines the permitted callers.
 */
export function toFetchHandler(
  engine: Engine | (() => Promise<Engine>),
  options: HandlerOptions<Request>,
): FetchHandler {
  const settings = readOptions(options);
  const basePath = settings.basePath ?? "";
  const app = typeof engine === "function" ? new LatestApp(engine, settings) : new MountedApp(engine, settings);
  const answer = async (request: Request): Promise<Response> => {
    const place = { basePath, url: below(pathOf(request), basePath) ?? NOWHERE };
    return answerWith(app instanceof LatestApp ? await app.open() : app, request, place);
  };
  return Object.assign(answer, { drain: app.drain.bind(app) });
}

/** The app of a function's engine: the function is called again if it failed, or if that engine has been closed. */
class LatestApp implements Mounted {
  readonly #engineOf: () => Promise<Engine>;
  readonly #settings: Settings<Request>;
  #latest: Promise<MountedApp<Request>> | null = null;
  #isDraining = false;

  constructor(engineOf: () => Promise<Engine>, settings: Settings<Request>) {
    this.#engineOf = engineOf;
    this.#settings = settings;
  }

  open(): Promise<MountedApp<Request>> {
    this.#latest ??= this.#make();
    return this.#latest;
  }

  async drain(options?: { readonly drainMs?: number }): Promise<void> {
    this.#isDraining = true;
    await (await this.#latest?.catch(() => null))?.drain(options);
  }

  async #make(): Promise<MountedApp<Request>> {
    const forget = (): void => void (this.#latest = null);
    try {
      const engine = await this.#engineOf();
      engine.on("engine:close", forget);
      const app = new MountedApp(engine, this.#settings);
      if (this.#isDraining) void app.drain();
      return app;
    } catch (error) {
      forget();
      throw error;
    }
  }
}

/** No route has this address. */
const NOWHERE = "/-";

/** Answers a request at an address. */
export function answerWith(
  app: MountedApp<Request>,
  request: Request,
  place: { readonly url: string; readonly basePath: string },
): Promise<Response> {
  const { incoming, outgoing, response } = openPair(request, place.url);
  app.answer({ incoming: () => request, ...place }, incoming, outgoing);
  return response;
}

function pathOf({ url }: Request): string {
  // A URL that the server has parsed: its path begins after the third slash.
  const at = url.indexOf("/", url.indexOf("//") + 2);
  const end = url.indexOf("#", at);
  return end < 0 ? url.slice(at) : url.slice(at, end);
}
