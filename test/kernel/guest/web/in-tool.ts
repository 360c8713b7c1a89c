import { openRealm } from "../in-realm.ts";

/** Runs the body of an async function as a tool in a hardened realm, and gives what it returns as JSON carries it. */
export async function inTool(body: string, input: unknown = null): Promise<unknown> {
  using realm = await openRealm(`async (input) => { ${body} }`, { before: TRY });
  return realm.call(input);
}

/** `thrown(() => …)` gives the name of what a function throws or rejects with, and nothing where it does neither. */
const TRY = `async function thrown(act) { try { await act(); } catch (error) { return error.name; } }`;
