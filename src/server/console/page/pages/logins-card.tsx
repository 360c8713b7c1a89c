import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ApiError, getJson, messageOf, pathTo, postJson } from "../api.ts";
import { announce, Badge, Card, Notice, Table, useLoaded } from "../elements.tsx";
import { last } from "../stats.ts";
import type { Connector } from "../wire.ts";

/** Time after which the reasons and the tenants are requested again. */
const FRESH_MS = 15_000;

/** A login that is needed. */
interface NeededLogin {
  readonly connector: string;
  /** Empty for the operator's. */
  readonly tenant: string;
  readonly reason: string | null;
  /** Whether a person logs in; otherwise the options are wrong. */
  readonly isPersons: boolean;
}

/** Card with the connectors that need a login, and buttons to log in; empty if none exist. */
export function LoginsCard() {
  const names = last.value?.needLogin ?? [];
  return names.length === 0 ? null : <Logins names={names} />;
}

function Logins({ names }: { names: readonly string[] }) {
  const turn = useSignal(0);
  useEffect(() => {
    const turning = setInterval(() => turn.value++, FRESH_MS);
    return () => clearInterval(turning);
  }, []);
  const text = names.join();
  const loaded = useLoaded((signal) => getJson<readonly Connector[]>("/v1/connectors", signal), [text, turn.value]);
  const known = useSignal<readonly NeededLogin[]>([]);
  useEffect(() => {
    if (loaded.kind === "ready") known.value = loaded.value.flatMap(loginsOf);
    if (loaded.kind === "failed") known.value = names.map(unknownLogin);
  }, [loaded]);
  const rowOf = (one: NeededLogin) => [
    <span class="mono">{one.connector}</span>,
    one.tenant === "" ? "all" : <span class="mono">{one.tenant}</span>,
    one.reason ?? <Badge text="needs login" tone="warn" />,
    one.isPersons ? <LoginButton {...one} /> : "—",
  ];
  return (
    <Card heading="Logins">
      <p>Calls of these connectors fail until somebody logs in.</p>
      {loaded.kind === "failed" && <Notice>The server does not say why: {loaded.message}</Notice>}
      <Table
        label="Connectors that need a login"
        heads={["Connector", "Tenant", "Reason", "Login"]}
        items={known.value}
        row={rowOf}
      />
    </Card>
  );
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
function LoginButton({ connector, tenant }: NeededLogin) {
  const isBusy = useSignal(false);
  const problem = useSignal("");
  const link = useSignal("");
  const begin = async (): Promise<void> => {
    isBusy.value = true;
    try {
      const query = tenant === "" ? "" : pathTo`?tenant=${tenant}`;
      const { url: text } = await postJson<{ readonly url: string }>(pathTo`/v1/connectors/${connector}/login` + query);
      const url = new URL(text);
      if (!/^https?:$/.test(url.protocol)) throw new ApiError(0, `the login page is no web page: ${url.protocol}`);
      open(url, "_blank", "noopener,noreferrer");
      // Browsers may refuse to open a tab without a click.
      link.value = url.href;
      problem.value = "";
      announce("A page for the login was opened.");
    } catch (error) {
      problem.value = messageOf(error);
    }
    isBusy.value = false;
  };
  return (
    <span class="row">
      <button
        type="button"
        class="small"
        aria-label={tenant === "" ? `Log in to ${connector}` : `Log in to ${connector} for ${tenant}`}
        disabled={isBusy.value}
        onClick={() => void begin()}
      >
        Log in
      </button>
      <span role="status">
        {problem.value !== "" && problem.value}
        {problem.value === "" && link.value !== "" && (
          <a href={link.value} target="_blank" rel="noopener noreferrer">
            Open the login page
          </a>
        )}
      </span>
    </span>
  );
}
