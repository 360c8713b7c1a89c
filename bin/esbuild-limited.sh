#!/bin/sh
# Starts esbuild with a limit on its addresses: only a process of its own can have one.
ulimit -c 0
ulimit -v "$GLOVEBOX_ADDRESS_KIB"
exec "$GLOVEBOX_ESBUILD" "$@"
