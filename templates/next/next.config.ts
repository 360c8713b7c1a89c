import type { NextConfig } from "next";

const config: NextConfig = {
  // Next must not bundle the engine, which has native code and processes of its own.
  serverExternalPackages: ["glovebox"],
  // `.next/standalone` is what a container needs. Next does not see which files the engine's processes read.
  output: "standalone",
  outputFileTracingIncludes: {
    "/tools/**": ["tools/**", "node_modules/{glovebox,web-streams-polyfill}/**"],
  },
};

export default config;
