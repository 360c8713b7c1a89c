/** A Python tool's code as its interpreter takes it: `ToolScript.text` is this as JSON. */
export interface PythonScript {
  /** The file among `files` that is the tool: `function.py`, or `name/__init__.py` where it is a package of Python's. */
  readonly entry: string;
  /** The tool's own files, by their paths with `/`; the interpreter has them in `/tool`. */
  readonly files: { readonly [path: string]: PythonFile };
  /** What was installed for it, as its site-packages hold it. */
  readonly packages: { readonly [path: string]: PythonFile };
}

/** A file's text, or its bytes as Base64 where it is none. */
export type PythonFile = string | { readonly base64: string };
