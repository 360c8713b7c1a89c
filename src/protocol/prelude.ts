/** The guest's prelude, as executors hand it to their workers. */
export interface Prelude {
  /** The script that runs first in every realm. */
  readonly core: string;
  /**
   * Scripts that a realm evaluates when a tool first needs them. They are not in the core because each new isolate
   * would have to read them.
   */
  readonly parts: { readonly [name: string]: string };
}
