# Sourced by ./test and ./quickstart: installs what is missing, says what it installs. Needs root for packages.

# The Node that package.json pins: without it neither the tests nor the product run.
case "$(uname -m)" in x86_64) arch=x64 ;; *) arch=arm64 ;; esac
node="node_modules/node-linux-$arch/bin/node"

# npm_ended: whether an installation by npm came to its end here, of whatever version.
npm_ended() { [ -x "$node" ] && [ -f node_modules/.package-lock.json ]; }

# install_npm: the packages of package-lock.json, when they are not there yet or the lock file has changed.
install_npm() {
  if npm_ended && "$node" --disable-warning=ExperimentalWarning tests/installed.ts "$@"; then return 0; fi
  # Who had the whole set keeps it when the lock file changes.
  if grep -qs '"dev": true' node_modules/.package-lock.json; then set --; fi
  if ! command -v npm >/dev/null 2>&1; then
    echo "error: npm is not installed" >&2
    echo "  next: install Node.js with npm (any version from 20), then run this again; or see 'Where there is no npm registry' in docs/install.md" >&2
    return 1
  fi
  echo "installing the npm packages of package-lock.json" >&2
  npm ci --no-audit --no-fund --loglevel=error "$@" >&2 || { npm_failed; return 1; }
}

# npm_failed: what to do, after npm has said why. A registry that answers, with whatever, is reached.
npm_failed() {
  local registry
  registry=$(npm config get registry 2>/dev/null) || registry='that of npm config list' # Its address holds a password.
  if npm ping --fetch-retries=0 --fetch-timeout=10000 --loglevel=error 2>&1 |
    grep -qE ' code (ECONN|ENET|EHOST|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)'; then
    echo "error: the npm registry cannot be reached: $registry" >&2
    echo "  next: name one that can be: npm config set registry URL; or see 'Where there is no npm registry' in docs/install.md" >&2
  else
    echo "error: npm could not install the packages of package-lock.json from $registry" >&2
    echo "  next: mend what npm names above, then run this again" >&2
  fi
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
