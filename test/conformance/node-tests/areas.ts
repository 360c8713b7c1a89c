/** Modules with their test files in Node's `test/parallel`, as patterns. */
export const AREAS: Readonly<Record<string, readonly string[]>> = {
  assert: ["test-assert{,-*}.js"],
  buffer: ["test-buffer{,-*}.js"],
  events: ["test-{event-*,events,events-*,eventtarget,eventtarget-*}.js"],
  path: ["test-path{,-*}.js"],
  querystring: ["test-querystring{,-*}.js"],
  string_decoder: ["test-string-decoder{,-*}.js"],
  url: ["test-url{,-*}.js", "test-whatwg-url-*.js"],
  util: ["test-util{,-*}.js"],
};
