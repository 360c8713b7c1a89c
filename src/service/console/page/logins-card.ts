import { ApiError, beginLogin, listConnectors } from "./api.ts";
import { messageOf } from "./call-form.ts";
import { announce, badge, card, fill, h, table } from "./elements.ts";
import type { Connector } from "./wire.ts";

/** Time after which the reasons and the tenants are asked for again. */
const FRESH_MS = 15_000;

/** A login that somebody has to make. */
interface NeededLogin {
  readonly connector: string;
  /** Empty for the operator's. */
  readonly tenant: string;
  readonly reason: string | null;
  /** Whether a person logs in; otherwise the options are wrong. */
  readonly isPersons: boolean;
}

/** Card with the connectors that need a login, and buttons to log in; hidden without any. */
export class LoginsCard {
  readonly element: HTMLElement;
  readonly #content = h("div", { class: "stack tight" });
  #names = "";
  #askedMs = -Infinity;
  #shown = "";

  constructor() {
    this.element = card("Logins", this.#content);
    this.element.hidden = true;
  }

  /** `names`: connectors that need a login. */
  update(names: readonly string[]): void {
    this.element.hidden = names.length === 0;
    const text = names.join();
    const isSame = text === this.#names && performance.now() - this.#askedMs < FRESH_MS;
    this.#names = text;
    if (names.length === 0) this.#shown = "";
    if (isSame || names.length === 0) return;
    this.#askedMs = performance.now();
    void this.#ask(names);
  }

  async #ask(names: readonly string[]): Promise<void> {
    const [connectors, problem] = await listConnectors().then(
      (found) => [found, null] as const,
      (error: unknown) => [[], messageOf(error)] as const,
    );
    const needed = problem === null ? connectors.flatMap(loginsOf) : names.map(unknownLogin);
    const text = JSON.stringify([needed, problem]);
    // The same rows keep the links to pages of logins that were begun.
    if (text === this.#shown) return;
    this.#shown = text;
    const rows = needed.map((one) => [
      h("span", { class: "mono" }, one.connector),
      one.tenant === "" ? "all" : h("span", { class: "mono" }, one.tenant),
      one.reason ?? badge("needs login", "warn"),
      one.isPersons ? loginButton(one) : "—",
    ]);
    fill(
      this.#content,
      h("p", {}, "Calls of these connectors fail until somebody logs in."),
      problem === null ? null : h("p", { class: "notice warn" }, `The server does not say why: ${problem}`),
      table("Connectors that need a login", ["Connector", "Tenant", "Reason", "Login"], rows),
    );
  }
}

function loginsOf({ name, login }: Connector): readonly NeededLogin[] {
  if (login === null) return [];
  const { auth, state, reason, tenants } = login;
  const isPersons = auth === "authorizationCode";
  const own = state === "needed" ? [{ connector: name, tenant: "", reason, isPersons }] : [];
  return [...own, ...tenants.map((tenant) => ({ connector: name, tenant, reason: null, isPersons }))];
}

function unknownLogin(connector: string): NeededLogin {
  return { connector, tenant: "", reason: null, isPersons: true };
}

/** A button that begins a login, and opens its page in another tab. */
function loginButton({ connector, tenant }: NeededLogin): HTMLElement {
  const words = h("span", { role: "status" });
  const label = tenant === "" ? `Log in to ${connector}` : `Log in to ${connector} for ${tenant}`;
  const begin = async (): Promise<void> => {
    button.disabled = true;
    try {
      const url = new URL(await beginLogin(connector, tenant));
      if (!/^https?:$/.test(url.protocol)) throw new ApiError(0, `the login page is no web page: ${url.protocol}`);
      open(url, "_blank", "noopener,noreferrer");
      // Browsers may refuse to open a tab that nobody has clicked for.
      fill(words, h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, "Open the login page"));
      announce("A page for the login was opened.");
    } catch (error) {
      fill(words, messageOf(error));
    }
    button.disabled = false;
  };
  const button = h(
    "button",
    { type: "button", class: "small", "aria-label": label, click: () => void begin() },
    "Log in",
  );
  return h("span", { class: "row" }, button, words);
}
