import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GloveboxError, StoreError } from "../../kernel/base/errors.ts";
import { DecisionConflict } from "../../kernel/engine/durable/durable-calls.ts";
import { Failures } from "../access/failures.ts";
import { DECIDE_BY_LINK, SHOW_DECISION } from "./api/decision-link-routes.ts";
import { decisionPage, messagePage, PAGE_HEADERS } from "./decision-page.ts";
import { refuseOthers, type Surface } from "./surface.ts";

const LINK = "/v1/decisions/:token";
const FORM = "application/x-www-form-urlencoded";
const FORM_BYTES = 4_096;
const UNKNOWN = "There is no such link.";

type LinkRequest = FastifyRequest<{ Params: { token: string } }>;

/** A page, with its status. */
type Page = readonly [status: number, html: string];

/**
 * Adds the pages of links in notifications. They need no key: the link itself permits one decision. Opening a page
 * decides nothing, as programs that check links in mails open it, too.
 */
export function addDecisionLinks(app: FastifyInstance, { engine }: Surface): void {
  const failures = new Failures();
  void app.register(async (scope) => {
    scope.addContentTypeParser(FORM, { parseAs: "string", bodyLimit: FORM_BYTES }, (_request, body, done) =>
      done(null, new URLSearchParams(String(body))),
    );
    scope.get(LINK, { config: { role: "anybody", api: SHOW_DECISION } }, (request: LinkRequest, reply) =>
      answer(request, reply, async () => {
        const linked = await engine.calls.durable.byLink(request.params.token);
        if (linked === undefined) return null;
        return linked.kind === "open" ? [200, decisionPage(linked)] : closed(linked);
      }),
    );
    scope.post(LINK, { config: { role: "anybody", api: DECIDE_BY_LINK } }, (request: LinkRequest, reply) =>
      answer(request, reply, async () => {
        const linked = await engine.calls.durable.byLink(request.params.token);
        if (linked === undefined) return null;
        if (linked.kind !== "open") return closed(linked);
        const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
        const decision = form.get("decision");
        if (decision !== "approve" && decision !== "refuse")
          return [400, messagePage("The form has to say approve or refuse.")];
        const call = await linked.decide(decision, form.get("digest") ?? "");
        if (call === undefined) return null;
        return [200, messagePage(decision === "approve" ? "Approved. The call goes on." : "Refused.")];
      }),
    );
  });
  refuseOthers(app, LINK, ["GET", "HEAD", "POST"]);

  async function answer(
    request: LinkRequest,
    reply: FastifyReply,
    work: () => Promise<Page | null>,
  ): Promise<FastifyReply> {
    reply.headers(PAGE_HEADERS);
    if (await failures.isExhausted(request.ip)) return tooMany(reply);
    const [status, html] = (await work().catch(refused)) ?? [404, messagePage(UNKNOWN)];
    // Links cannot be guessed; clients that try are slowed down.
    if (status === 404 && (await failures.note(request.ip)) > 0) return tooMany(reply);
    return reply.code(status).send(html);
  }
}

function closed({ kind, reason }: { readonly kind: "gone" | "forbidden"; readonly reason: string }): Page {
  return kind === "gone"
    ? [410, messagePage(`This link decides nothing any more: ${reason}.`)]
    : [403, messagePage(`This link cannot decide: ${reason}.`)];
}

function refused(error: unknown): Page {
  if (error instanceof StoreError) return [503, messagePage(`Try again later: ${error.message}.`)];
  if (error instanceof DecisionConflict) return [409, messagePage(`It was not decided: ${error.message}.`)];
  if (error instanceof GloveboxError) return [403, messagePage(`It was not decided: ${error.message}.`)];
  throw error;
}

function tooMany(reply: FastifyReply): FastifyReply {
  return reply.code(429).header("retry-after", "60").send(messagePage("Too many wrong links from this address."));
}
