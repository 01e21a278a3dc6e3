#!/bin/sh
# The preflight check that the cache operator ships from 1.1.0 on: does a setting of the running cluster stand
# that this release no longer accepts? It only reads. Its answer is the framed document of the check contract.
set -u
. /usr/libexec/api.sh

supported='lru lfu'
settings=$(api GET /api/v1/namespaces/demo-cache/configmaps/cache-settings) || {
  echo "cannot read ConfigMap demo-cache/cache-settings" >&2
  exit 1
}
policy=$(printf '%s' "$settings" | field evictionPolicy)
version=$(printf '%s' "$settings" | field resourceVersion)
manifests=$(ls /release-manifests | wc -l)
evidence="\"evidence\":{\"configMap\":\"demo-cache/cache-settings\",\"resourceVersion\":\"$version\",\"evictionPolicy\":\"$policy\",\"targetManifests\":$manifests}"
identity="\"check\":\"$SLUICE_CHECK\",\"runID\":\"$SLUICE_RUN_ID\",\"targetDigest\":\"$SLUICE_TARGET_DIGEST\""

case " $supported " in
  *" $policy "*)
    risks='[]' code=0 verdict="evictionPolicy '$policy' is supported by $SLUICE_TARGET_VERSION" ;;
  *)
    verdict="evictionPolicy '$policy' in ConfigMap demo-cache/cache-settings is not supported by $SLUICE_TARGET_VERSION: set it to lru or lfu"
    risks="[{\"name\":\"EvictionPolicyRemoved\",\"blocking\":true,\"message\":\"$verdict\",\"objects\":[\"ConfigMap demo-cache/cache-settings\"]}]"
    code=3 ;;
esac

document="{$identity,\"message\":\"$verdict\",\"risks\":$risks,$evidence}"
bytes=$(printf '%s' "$document" | wc -c)
sum=$(printf '%s' "$document" | sha256sum | cut -d' ' -f1)
printf 'SLUICE-RESULT v1 %s %s\n%s\n' "$bytes" "$sum" "$document"
printf '%s' "$verdict" >/dev/termination-log 2>/dev/null
exit $code
