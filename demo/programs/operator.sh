#!/bin/sh
# A small operator. It reads its settings (if it has any) and reports in its ClusterOperator whether its operand
# can run with them at this version. Environment: OPERATOR, VERSION, SETTINGS (namespace/name of a ConfigMap, or
# empty), EVICTION_POLICIES (what this version understands),
# CLUSTER_OPERATOR_API (group and version of ClusterOperator).
set -u
. /usr/libexec/api.sh

trap 'exit 0' TERM INT
said=''
while :; do
  degraded=False reason=AsExpected message="The operand runs at $VERSION"
  if [ -n "$SETTINGS" ]; then
    path="/api/v1/namespaces/${SETTINGS%/*}/configmaps/${SETTINGS#*/}"
    if settings=$(api GET "$path"); then
      policy=$(printf '%s' "$settings" | field evictionPolicy)
      case " $EVICTION_POLICIES " in
        *" $policy "*) ;;
        *) degraded=True reason=SettingUnknown message="evictionPolicy '$policy' is not known to $VERSION" ;;
      esac
    else
      degraded=True reason=SettingsUnreadable message="cannot read ConfigMap $SETTINGS"
    fi
  fi
  status="$degraded $reason $message"
  if [ "$status" != "$said" ]; then
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    condition() {
      printf '{"type":"%s","status":"%s","reason":"%s","message":"%s","lastTransitionTime":"%s"}' "$1" "$2" "$3" "$4" "$now"
    }
    body="{\"status\":{\"versions\":[{\"name\":\"operator\",\"version\":\"$VERSION\"}],\"conditions\":[\
$(condition Available True AsExpected "The operand runs at $VERSION"),\
$(condition Progressing False AsExpected "At version $VERSION"),\
$(condition Degraded "$degraded" "$reason" "$message"),\
$(condition Upgradeable True AsExpected "Nothing stands against an update")]}}"
    if api PATCH "/apis/${CLUSTER_OPERATOR_API:-config.openshift.io/v1}/clusteroperators/$OPERATOR/status" "$body" >/dev/null; then
      echo "reported: $status"
      said=$status
    fi
  fi
  sleep 2 &
  wait $!
done
