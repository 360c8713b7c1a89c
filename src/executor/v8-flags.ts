/** What V8 has to be told wherever tools run. */
export const V8_FLAGS: readonly string[] = [
  // Without this V8 compiles some ordinary loops so that nothing can interrupt them.
  "--no-turboshaft-loop-unrolling",
  // What V8 optimizes on another thread while nobody is in the isolate is lost: hot tools would stay several times
  // slower than they could be, so the thread that calls them compiles them itself.
  "--no-concurrent-recompilation",
  // And what its middle compiler inlines into our own frames stays there: a hot loop never gets beyond it.
  "--no-maglev-inlining",
];
