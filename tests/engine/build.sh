#!/usr/bin/env bash
# Builds a real kube-apiserver, kube-controller-manager and etcd from their Go modules, once, outside the repository.
# Prints the directory of the programs. Usage: tests/engine/build.sh [--built] [--node]
#   --built   only says where they are; fails where they were not built yet
#   --node    kubelet and kube-scheduler too, for a cluster that runs Pods
# They are kept below SLUICE_ENGINE_CACHE, by default ~/.cache/sluice-engine.
set -eu
kubernetes=1.34.4
etcd=3.7.3
cache="${SLUICE_ENGINE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice-engine}/k$kubernetes-e$etcd"
ask_only=no
wanted=(kube-apiserver kube-controller-manager)
for argument in "$@"; do
  case "$argument" in
    --built) ask_only=yes ;;
    --node) wanted+=(kubelet kube-scheduler) ;;
    *) echo "unknown argument $argument" >&2; exit 2 ;;
  esac
done
built() {
  local program
  for program in "${wanted[@]}" etcd; do [ -x "$cache/bin/$program" ] || return 1; done
}
if built; then echo "$cache/bin"; exit 0; fi
if [ "$ask_only" = yes ]; then exit 1; fi
command -v go >/dev/null || { echo "no Go toolchain on the path" >&2; exit 1; }
mkdir -p "$cache/bin" "$cache/new" "$cache/kubernetes" "$cache/etcd"
# One build, whoever asks for it; the others wait and find it done.
exec 9>"$cache/lock"
flock 9
if built; then echo "$cache/bin"; exit 0; fi
echo "building ${wanted[*]} $kubernetes and etcd $etcd (about ten minutes on two cores, once)" >&2
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
go build -trimpath -ldflags "-s -w $version" -o "$cache/new/" "${wanted[@]/#/k8s.io/kubernetes/cmd/}"

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
go build -trimpath -ldflags '-s -w' -o "$cache/new/etcd" ./main
# Whole or not at all: a build that was cut is not taken for one that ended.
mv "$cache/new/"* "$cache/bin/"
echo "$cache/bin"
