# Sourced by the demo's programs: the cluster API by curl, with the pod's own token, over verified TLS.
sa=/var/run/secrets/kubernetes.io/serviceaccount
api="https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT"

# api METHOD PATH [BODY]: prints the answer; fails on anything but 2xx.
api() {
  method=$1 path=$2
  shift 2
  curl --silent --show-error --fail --max-time 15 --cacert "$sa/ca.crt" \
    --header "Authorization: Bearer $(cat "$sa/token")" \
    --header 'Content-Type: application/merge-patch+json' --header 'Accept: application/json' \
    --request "$method" ${1:+--data "$1"} "$api$path"
}

# field NAME: the string value of a JSON field that stands once in the document on standard input.
field() {
  tr -d '\n' | sed -n 's/.*"'"$1"'" *: *"\([^"]*\)".*/\1/p'
}
