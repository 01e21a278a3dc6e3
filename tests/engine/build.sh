#!/usr/bin/env bash
# Builds a real kube-apiserver, kube-controller-manager and etcd from their Go modules, once, outside the repository.
# Prints the directory of the programs. Usage: tests/engine/build.sh [CACHE_DIR]
set -eu
kubernetes=1.34.4
etcd=3.7.3
cache="${1:-${SLUICE_ENGINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice-engine}}/k$kubernetes-e$etcd"
if [ -x "$cache/bin/kube-apiserver" ] && [ -x "$cache/bin/kube-controller-manager" ] && [ -x "$cache/bin/etcd" ]; then
  echo "$cache/bin"
  exit 0
fi
command -v go >/dev/null || { echo "no Go toolchain on the path" >&2; exit 1; }
echo "building kube-apiserver $kubernetes and etcd $etcd (about ten minutes on two cores, once)" >&2
mkdir -p "$cache/bin" "$cache/kubernetes" "$cache/etcd"
export GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0

cd "$cache/kubernetes"
source=$(go mod download -json "k8s.io/kubernetes@v$kubernetes" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
staging="v0.${kubernetes#1.}"
{
  echo "module engine"
  echo "go $(sed -n 's/^go //p' "$source/go.mod")"
  echo "require k8s.io/kubernetes v$kubernetes"
  # Its own go.mod replaces these by folders of its repository; as modules they are published beside it.
  sed -n 's/^\t*\(k8s\.io\/[a-z0-9-]*\) => \.\/staging.*/replace \1 => \1 '"$staging"'/p' "$source/go.mod"
} >go.mod
version="-X k8s.io/component-base/version.gitVersion=v$kubernetes -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(echo "$kubernetes" | cut -d. -f2)"
go build -trimpath -ldflags "-s -w $version" -o "$cache/bin/" k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager

cd "$cache/etcd"
[ -f go.mod ] || go mod init engine >/dev/null 2>&1
go get "go.etcd.io/etcd/server/v3@v$etcd" >/dev/null 2>&1
mkdir -p main
cat >main/main.go <<'GO'
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
GO
go build -trimpath -ldflags '-s -w' -o "$cache/bin/etcd" ./main
echo "$cache/bin"
