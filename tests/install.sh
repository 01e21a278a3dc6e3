# Sourced by ./test and ./quickstart: installs what is missing, says what it installs. Needs root for packages.

# install_npm: the packages of package-lock.json, when they are not there yet or the lock file has changed.
install_npm() {
  local mark=node_modules/.sluice-lock want
  want=$(sha256sum package-lock.json | cut -d' ' -f1)
  # The whole set serves where a part would do, not the other way round.
  if [ -f "$mark" ]; then
    case "$(cat "$mark")" in
      "$want all" | "$want ${*:-all}") return 0 ;;
      # Who had the whole set keeps it when the lock file changes.
      *" all") set -- ;;
    esac
  fi
  if ! command -v npm >/dev/null 2>&1; then
    echo "error: npm is not installed" >&2
    echo "  next: install Node.js with npm (any version from 20), then run this again" >&2
    return 1
  fi
  echo "installing the npm packages of package-lock.json" >&2
  npm ci --no-audit --no-fund --loglevel=error "$@" >&2 && printf '%s\n' "$want ${*:-all}" >"$mark"
}

# install_debian PROGRAM=PACKAGE…: Debian packages whose program is missing. Returns 1 where they cannot be had.
install_debian() {
  local pair missing=()
  for pair in "$@"; do
    if ! PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%=*}" >/dev/null 2>&1 && [ ! -e "${pair%%=*}" ]; then
      missing+=("${pair#*=}")
    fi
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    echo "missing: ${missing[*]} (installing them needs root and apt-get)" >&2
    return 1
  fi
  echo "installing from Debian: ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  if ! apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1; then
    apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
}
