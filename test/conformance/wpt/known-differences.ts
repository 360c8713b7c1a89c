import type { Difference } from "../tally.ts";

const ALL = /^/;
const NO_CHANNELS = "tools have no MessageChannel, which the test needs";
const NO_SHARED_MEMORY = "tools have no SharedArrayBuffer: it escapes their memory's limit";
const SEVERAL_BYTES = "tools decode UTF-8, UTF-16 and encodings of one byte for each character, no others";
const LAZY = "globals are made when they are first asked for, and are accessors until then";
const STILL = "the clock stands still within a turn, and begins at 0";

export const DIFFERENCES: readonly Difference[] = [
  {
    program: /^encoding\//,
    subtest: /^(?!.*destination: SharedArrayBuffer$).*SharedArrayBuffer/,
    kind: "notApplicable",
    reason: NO_SHARED_MEMORY,
  },
  {
    program: /^encoding\/streams\/decode-utf8\./,
    subtest: /transferred/,
    kind: "notApplicable",
    reason: NO_SHARED_MEMORY,
  },
  {
    program: /^encoding\/(?:iso-2022-jp-decoder|legacy-mb-)/,
    subtest: ALL,
    kind: "notApplicable",
    reason: SEVERAL_BYTES,
  },
  {
    program: /^encoding\/(?:streams\/decode-non-utf8|textdecoder-labels|textencoder-constructor-non-utf)\./,
    subtest: /^(?!.*not considered).*(?:GBK|gb18030|Big5|EUC-JP|ISO-2022-JP|Shift_JIS|EUC-KR)/,
    kind: "notApplicable",
    reason: SEVERAL_BYTES,
  },
  {
    program: /^encoding\/encodeInto\./,
    subtest: /detached output buffer/,
    kind: "notApplicable",
    reason: NO_CHANNELS,
  },
  { program: /^FileAPI\/blob\/Blob-constructor\./, subtest: /MessagePort/, kind: "notApplicable", reason: NO_CHANNELS },
  { program: /\/structured-clone\./, subtest: /^MessagePort$/, kind: "notApplicable", reason: NO_CHANNELS },
  {
    program: /^streams\/readable-byte-streams\/non-transferable-buffers\./,
    subtest: ALL,
    kind: "notApplicable",
    reason: "tools have no WebAssembly, whose memory the test transfers",
  },
  {
    program: /^hr-time\/basic\./,
    subtest: /extends EventTarget/,
    kind: "refused",
    reason: "performance is a clock, without entries and events",
  },
  {
    program: /^hr-time\/(?:basic|monotonic-clock)\./,
    subtest: /returns a positive number$/,
    kind: "refused",
    reason: STILL,
  },
  {
    program: /^fetch\/api\/request\/request-bad-port\./,
    subtest: ALL,
    kind: "notApplicable",
    reason: "which ports a tool may reach is for its policy to say, not for fetch",
  },
  {
    program: /^console\/console-is-a-namespace\./,
    subtest: /property descriptors/,
    kind: "refused",
    reason: LAZY,
  },
  { program: /^console\/idlharness\./, subtest: /property descriptor/, kind: "refused", reason: LAZY },
  {
    program: /\/DOMException-constructor-and-prototype\./,
    subtest: /property descriptor of DOMException$/,
    kind: "refused",
    reason: LAZY,
  },
  {
    program: /\/DOMException-custom-bindings\./,
    subtest: /class-side/,
    kind: "open",
    reason: "DOMException has the statics of Error: only a class of V8 makes errors with stacks",
  },
  {
    program: /^streams\/piping\/general-addition\./,
    subtest: ALL,
    kind: "open",
    reason: "a pipe writes a chunk at once where it is enqueued",
  },
];
