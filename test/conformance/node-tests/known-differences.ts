import type { Difference } from "../tally.ts";

const ALL = /^/;

function every(kind: Difference["kind"], reason: string, failure: RegExp, program: RegExp = ALL): Difference {
  return { program, subtest: ALL, failure, kind, reason };
}

/** Of several that match a failure, the first counts. */
export const DIFFERENCES: readonly Difference[] = [
  every("notApplicable", "tools have no SharedArrayBuffer: it escapes their memory's limit", /SharedArrayBuffer/),
  every(
    "notApplicable",
    "tools have no SharedArrayBuffer: it escapes their memory's limit",
    /^lost: its test has not begun/,
    /^test-assert-(?:partial|typedarray)/,
  ),
  every("notApplicable", "a tool starts no processes and threads", /child_process|MessageChannel|Amaro/),
  every("notApplicable", "tools have no buffers of variable length", /resize is not a function/),
  every(
    "notApplicable",
    "an isolate has one context, so code for another one runs in the tool's",
    /vm\.|(?:Buffer|checkString|ab|byteLength) is not defined|'allocUnsafe'/,
  ),
  every("notApplicable", "the memory of a call is smaller than the test needs", /insufficient space/),
  every("notApplicable", "functions of Node's inside", /_exceptionWithHostPort|createTracing|getCallSites/),
  every(
    "refused",
    "built-ins are frozen",
    /not extensible|Cannot (?:assign to read only|redefine|delete) property|Cannot add property/,
  ),
  every("refused", "an uncaught error ends the call", /^lost: tool_error|ERR_UNHANDLED_ERROR/),
  every(
    "refused",
    "Buffer's constructors do not warn of their deprecation",
    /called 0 times/,
    /^test-buffer-(?:constructor|pending)/,
  ),
  every("refused", "code of the language does not see proxies", ALL, /^test-util-inspect-proxy/),
  every(
    "open",
    "util.inspect does not see the state of promises, iterators and weak collections, and rare forms of objects",
    ALL,
    /^test-util-(?:inspect|format)/,
  ),
  every("open", "errors and views of URL and URLSearchParams are the web's, without Node's codes", ALL, /^test-whatwg/),
  every("open", "the first forms of URL functions differ in rare characters and errors", ALL, /^test-url/),
  every("open", "assert has no class Assert, and its messages show no differences line by line", ALL, /^test-assert/),
  every("open", "rare arguments and messages of Buffer", ALL, /^test-buffer/),
  every("open", "rare arguments and warnings of util", ALL, /^test-util/),
  every("open", "rare uses of events", ALL, /^test-event/),
  every("open", "paths with names of devices, and another working directory", ALL, /^test-path/),
  every("open", "halves of characters of UTF-16, and the fields of a decoder", ALL, /^test-string-decoder/),
  every("open", "rare arguments of querystring", ALL, /^test-querystring/),
];
