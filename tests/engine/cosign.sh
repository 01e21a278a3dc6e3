#!/usr/bin/env bash
# Builds cosign from its Go module, once, outside the repository. Prints the path of the program.
# Usage: tests/engine/cosign.sh [CACHE_DIR]
set -eu
version=2.6.5
cache="${1:-${SLUICE_ENGINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice-engine}}/cosign-$version"
if [ -x "$cache/cosign" ]; then
  echo "$cache/cosign"
  exit 0
fi
command -v go >/dev/null || { echo "no Go toolchain on the path" >&2; exit 1; }
echo "building cosign $version (some minutes on two cores, once)" >&2
mkdir -p "$cache"
GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0 GOBIN="$cache" \
  go install -trimpath -ldflags '-s -w' "github.com/sigstore/cosign/v2/cmd/cosign@v$version"
echo "$cache/cosign"
