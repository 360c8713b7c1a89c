import type { ApiAnswer, RouteDescription } from "./route-description.ts";

const TOKEN = { token: "The last part of a link in a notification." };

const REFUSALS = {
  403: page("A rule names the keys that decide, or the approval needs data."),
  404: page("There is no such link."),
  410: page("It was decided, or the link has expired."),
  429: page("Too many wrong links from this address."),
  503: page("The store cannot be used now."),
};

export const SHOW_DECISION: RouteDescription = {
  id: "showDecision",
  tag: "calls",
  summary: "Shows a person what a link in a notification decides. Decides nothing.",
  params: TOKEN,
  answers: { 200: page("The tool, the message and the arguments, with a form for each decision."), ...REFUSALS },
};

export const DECIDE_BY_LINK: RouteDescription = {
  id: "decideByLink",
  tag: "calls",
  summary: "Decides by a link of a notification, once.",
  params: TOKEN,
  body: {
    "application/x-www-form-urlencoded": {
      schema: {
        type: "object",
        properties: {
          decision: { enum: ["approve", "refuse"] },
          digest: { type: "string", description: "Required to approve: the digest of what the page has shown." },
        },
        required: ["decision"],
      },
      example: { decision: "approve", digest: "5f0c…" },
    },
  },
  answers: {
    200: page("It is decided."),
    400: page("The form says neither approve nor refuse."),
    409: page("It is no longer what was shown."),
    413: page("The form is longer than 4 KiB."),
    ...REFUSALS,
  },
};

function page(description: string): ApiAnswer {
  return { description, content: { "text/html": { schema: { type: "string" } } } };
}
