/** The guest's prelude, as executors hand it to their workers. */
export interface Prelude {
  /** The script that runs first in every realm. */
  readonly core: string;
  /**
   * Scripts that a realm evaluates when a tool first needs them. They are not in the core because each new isolate
   * would have to read them.
   */
  readonly parts: { readonly [name: string]: string };
  /**
   * Scripts that run before the core in the realms of a runtime, for what the core takes away. The value of each is a
   * `RuntimeEngine`.
   */
  readonly engines: { readonly wasi: string; readonly native: string };
  /** The folder where Python's interpreter lies once it is made ready; `null` where there is none. */
  readonly pythonImage: string | null;
}
