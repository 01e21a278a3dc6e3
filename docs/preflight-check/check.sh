#!/bin/sh
# Does a setting of the shop stand that the next release no longer accepts? It only reads, and answers in one frame.
set -u
account=/var/run/secrets/kubernetes.io/serviceaccount
api="https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"
get() {
  curl --silent --show-error --fail --max-time 15 --cacert "$account/ca.crt" \
    --header "Authorization: Bearer $(cat "$account/token")" "$api$1"
}

# What could not be found out is neither a pass nor a risk: any exit code but 0 and 3 says so.
settings=$(get /api/v1/namespaces/shop/configmaps/settings) || { echo 'cannot read ConfigMap shop/settings' >&2; exit 1; }

case $settings in
  *'"mode":"legacy"'*)
    risks='[{"name":"ShopLegacyMode","severity":"blocking","message":"mode is legacy, which '"$SLUICE_TARGET_VERSION"' no longer knows","next":"Set mode to plain in ConfigMap shop/settings.","objects":["configmap/shop/settings"]}]'
    code=3 ;;
  *)
    risks='[]' code=0 ;;
esac

document='{"runID":"'"$SLUICE_RUN_ID"'","check":"'"$SLUICE_CHECK"'","targetDigest":"'"$SLUICE_TARGET_DIGEST"'","message":"looked at the mode of the shop","risks":'"$risks"'}'
printf 'SLUICE-RESULT v1 %s %s\n%s\n' "$(printf %s "$document" | wc -c)" \
  "$(printf %s "$document" | sha256sum | cut -d' ' -f1)" "$document"
exit $code
