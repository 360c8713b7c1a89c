#!/usr/bin/env -S node --no-warnings
// An older Node has to be able to read this file, so that it can say which one is needed.
import("../dist/kernel/base/check-node.js").then(
  () => import("../dist/cli/compile-cache.js").then(() => import("../dist/cli/main.js")),
  (error) => {
    console.error(error.message);
    process.exitCode = 1;
  },
);
