#!/bin/sh
# Installs Sluice from the disk that it travels on, on a machine with nothing else: the program, its systemd units,
# users, rules of udev, polkit and D-Bus, the key of the disk, manifests and documentation. Run again, it changes
# nothing; of a newer disk, it takes that version. --uninstall takes away what it brought and nobody has changed.
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
root=
prefix=/usr/local
fingerprint=
enable=
action=install
purge=no
# What was installed: a SHA-256 and a path on each line.
list=/var/lib/sluice-install/files

usage() {
  cat <<'END'
Usage: sh ./install --fingerprint SHA256 [--enable UNIT…] [--prefix DIR] [--root DIR]
       sh ./install --uninstall [--purge] [--root DIR]
       sh ./install --status [--root DIR]

  --fingerprint SHA256  of the key that signed this disk, from a source other than this disk; nothing is installed
                        without it. Its key is trusted for bundles from then on.
  --enable UNIT         enable and start a unit afterwards: sluice-agent, sluice-registry, …; repeatable
  --prefix DIR          where program, manifests and documentation go (default /usr/local, which also hosts with a
                        read-only /usr have)
  --root DIR            install into the root of another system (an image that is being built); nothing is started
  --uninstall           stop the units, and remove what was installed and is still as it was installed
  --purge               with --uninstall: also /etc/sluice, /var/lib/sluice and /var/cache/sluice: content, state, keys
  --status              what is installed, and whether it is as it was installed

Exit codes: 0 done, 1 failed, 2 usage, 6 the disk is not what was signed.
END
}

fail() {
  code=$1
  shift
  echo "error: $1" >&2
  [ $# -lt 2 ] || echo "  next: $2" >&2
  exit "$code"
}

while [ $# -gt 0 ]; do
  case $1 in
    --fingerprint | --enable | --prefix | --root)
      [ $# -ge 2 ] || fail 2 "$1 needs a value" "sh ./install --help"
      case $1 in
        --fingerprint) fingerprint=$(printf %s "$2" | tr 'A-F' 'a-f' | tr -d ': ') ;;
        --enable) enable="$enable ${2%.service}.service" ;;
        --prefix) prefix=${2%/} ;;
        --root) root=${2%/} ;;
      esac
      shift 2
      ;;
    --uninstall) action=uninstall; shift ;;
    --status) action=status; shift ;;
    --purge) purge=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    *) fail 2 "'$1' is not taken" "sh ./install --help" ;;
  esac
done

case $prefix in
  /*) ;;
  *) fail 2 "--prefix $prefix is not an absolute path" ;;
esac
case "$prefix$root" in
  *[!A-Za-z0-9/._-]*) fail 2 "--prefix and --root take letters, digits and /._- only" ;;
esac
[ "$(id -u)" = 0 ] || fail 1 "only root can install" "Run it as root: sudo sh ./install …"

# Whether systemd runs here, and is the one that is installed for.
live() { [ -z "$root" ] && [ -d /run/systemd/system ]; }

sum() { sha256sum "$1" | cut -d' ' -f1; }

# --- What goes where -------------------------------------------------------------------------------------------------

machine() {
  case $(uname -m) in
    x86_64) echo x64 ;;
    aarch64 | arm64) echo arm64 ;;
    *) fail 1 "there is no program for $(uname -m)" ;;
  esac
}

# The program of this machine on the disk: one, of one version.
program() {
  found=
  for each in "$here"/sluice-*-linux-"$(machine)"; do
    [ -f "$each" ] || continue
    [ -z "$found" ] || fail 1 "there is more than one program for $(machine) in $here"
    found=$each
  done
  [ -n "$found" ] || fail 1 "$here has no program for $(machine)" "Build the disk with one: bundle build --with-sluice."
  echo "$found"
}

# Copies one file where it is not there like that, and notes it. Units call the program where it is installed.
changed=0
put() {
  from=$1
  to=$2
  mode=$3
  mkdir -p "$root$(dirname "$to")"
  case $to in
    *.service | *.conf | *.rules | *.policy) sed "s#/usr/bin/sluice#$prefix/bin/sluice#g" "$from" >"$root$to.sluice-new" ;;
    *) cp "$from" "$root$to.sluice-new" ;;
  esac
  chmod "$mode" "$root$to.sluice-new"
  new=$(sum "$root$to.sluice-new")
  if [ -f "$root$to" ] && [ "$(sum "$root$to")" = "$new" ]; then
    rm "$root$to.sluice-new"
  elif [ -f "$root$to" ] && ! ours "$to"; then
    # Somebody's own file, or one that was changed after it was installed, is not written over.
    rm "$root$to.sluice-new"
    echo "kept as it is: $to differs from what this disk brings"
    [ ! -f "$root$list" ] || line_of "$to" "$root$list" >>"$root$list.new"
    return 0
  else
    sync "$root$to.sluice-new" 2>/dev/null || sync
    mv -f "$root$to.sluice-new" "$root$to"
    changed=$((changed + 1))
  fi
  echo "$new  $to" >>"$root$list.new"
}

# The line of a path in a list, which begins with 64 digits and two spaces.
line_of() {
  awk -v path="$1" 'substr($0, 67) == path' "$2"
}

# Whether a file is still as it was installed.
ours() {
  [ -f "$root$list" ] && [ -f "$root$1" ] && grep -qxF "$(sum "$root$1")  $1" "$root$list"
}

put_tree() {
  (cd "$1" && find . -type f | LC_ALL=C sort) | while read -r each; do
    printf '%s\n' "${each#./}"
  done
}

# --- Verifying -------------------------------------------------------------------------------------------------------

# That the disk is what the key signed, and the key the one whose fingerprint was given. The sums are checked with the
# system's own tools; the signature with openssl where it is, and always with the program, whose sum is then known.
verify() {
  [ -n "$fingerprint" ] ||
    fail 2 "--fingerprint is missing" "Compare the one in README.txt with one that came in another way, then give it."
  for each in sluice.pub SHA256SUMS SHA256SUMS.sig; do
    [ -f "$here/$each" ] || fail 6 "$here/$each is missing" "Use the whole directory as it is on the disk."
  done
  actual=$(sed -e '/^-----/d' "$here/sluice.pub" | tr -d '\n\r ' | base64 -d | sha256sum | cut -d' ' -f1)
  [ "$actual" = "$fingerprint" ] ||
    fail 6 "this disk is signed by the key $actual, not by $fingerprint" "Do not use it; ask who made it."
  if command -v openssl >/dev/null 2>&1; then
    openssl dgst -sha256 -verify "$here/sluice.pub" -signature "$here/SHA256SUMS.sig" "$here/SHA256SUMS" >/dev/null 2>&1 ||
      fail 6 "the signature of SHA256SUMS is not good" "Write the disk again, or use another copy."
  fi
  (cd "$here" && sha256sum --quiet -c SHA256SUMS >&2) ||
    fail 6 "this disk is not what was signed" "Write the disk again, or use another copy."
  # From a place of our own: the disk may be mounted noexec, and must not change between the check and the use.
  mkdir -p "$root/var/lib/sluice-install"
  staged="$root/var/lib/sluice-install/program"
  name=$(basename "$(program)")
  cp "$here/$name" "$staged"
  chmod 755 "$staged"
  grep -qxF "$(sum "$staged")  $name" "$here/SHA256SUMS" || fail 6 "$name is not what was signed"
  "$staged" bundle verify "$here/.." --only-program --key "$here/sluice.pub" >&2 ||
    fail 6 "the program found that this disk is not what was signed" "Write the disk again, or use another copy."
}

# --- Installing ------------------------------------------------------------------------------------------------------

install_all() {
  verify
  : >"$root$list.new"
  put "$staged" "$prefix/bin/sluice" 755
  rm -f "$staged"
  units=$here/deploy/systemd
  for each in $(put_tree "$units"); do
    case $each in
      *.example) put "$units/$each" "$prefix/share/sluice/examples/$each" 644 ;;
      system/*) put "$units/$each" "/etc/systemd/$each" 644 ;;
      sysusers.d/* | tmpfiles.d/* | udev/* | dbus-1/*) put "$units/$each" "/etc/$each" 644 ;;
      polkit-1/rules.d/*) put "$units/$each" "/etc/$each" 644 ;;
      polkit-1/actions/*)
        # polkit looks for actions below /usr alone. Without ours, only root may open a window over the bus.
        if [ -w "$root/usr/share" ]; then put "$units/$each" "/usr/share/$each" 644
        else echo "left out: /usr/share/$each (/usr is read-only); only root may open a window over D-Bus"; fi
        ;;
      *) fail 1 "deploy/systemd/$each: the script does not know where it belongs" ;;
    esac
  done
  for part in deploy docs crds; do
    for each in $(put_tree "$here/$part"); do
      case $part/$each in deploy/systemd/*) ;; *) put "$here/$part/$each" "$prefix/share/sluice/$part/$each" 644 ;; esac
    done
  done
  for each in LICENSE NOTICES.txt CHANGELOG.md; do put "$here/$each" "$prefix/share/sluice/$each" 644; done
  put "$here/install" "$prefix/share/sluice/install" 755
  put "$here/sluice.pub" "/etc/sluice/trusted-keys/medium-$(printf %.16s "$fingerprint").pub" 644
  drop_old
  sort -u "$root$list.new" >"$root$list.sorted"
  rm "$root$list.new"
  if [ -f "$root$list" ] && cmp -s "$root$list" "$root$list.sorted"; then rm "$root$list.sorted"
  else mv "$root$list.sorted" "$root$list"; fi
  make_users
  if live && [ "$changed" -gt 0 ]; then reload; fi
  version=$("$root$prefix/bin/sluice" --version)
  if [ "$changed" -eq 0 ]; then echo "$version: nothing to change"
  else echo "$version: $changed files installed"; fi
  for unit in $enable; do
    if live; then systemctl enable --now "$unit"; else systemctl --root="${root:-/}" enable "$unit"; fi
  done
  if live && [ "$changed" -gt 0 ]; then tell_running; fi
}

# What an older version brought and this one does not.
drop_old() {
  [ -f "$root$list" ] || return 0
  while read -r _ path; do
    if [ -z "$(line_of "$path" "$root$list.new")" ] && ours "$path"; then
      rm -f "$root$path"
      changed=$((changed + 1))
    fi
  done <"$root$list"
}

make_users() {
  if command -v systemd-sysusers >/dev/null 2>&1; then systemd-sysusers ${root:+--root="$root"} sluice.conf; fi
  if command -v systemd-tmpfiles >/dev/null 2>&1; then systemd-tmpfiles --create ${root:+--root="$root"} sluice.conf; fi
}

reload() {
  systemctl daemon-reload
  if command -v udevadm >/dev/null 2>&1; then udevadm control --reload >/dev/null 2>&1 || true; fi
  if systemctl is-active --quiet dbus.service; then systemctl reload dbus.service || true; fi
}

# Restarting interrupts, so people say when.
tell_running() {
  for unit in $(systemctl list-units --plain --no-legend --state=active 'sluice-*.service' | cut -d' ' -f1); do
    case " $enable " in *" $unit "*) ;; *) echo "runs the version of before until: systemctl restart $unit" ;; esac
  done
}

# --- Taking it away --------------------------------------------------------------------------------------------------

uninstall_all() {
  [ -f "$root$list" ] || {
    echo "nothing is installed"
    return 0
  }
  if live; then
    for unit in $(systemctl list-units --all --plain --no-legend 'sluice-*.service' | cut -d' ' -f1); do
      systemctl stop "$unit" || true
    done
  fi
  while read -r _ path; do
    case $path in
      /etc/systemd/system/*@.service) ;;
      /etc/systemd/system/*.service)
        systemctl ${root:+--root="$root"} --quiet disable "$(basename "$path")" 2>/dev/null || true
        ;;
    esac
  done <"$root$list"
  kept=0
  while read -r _ path; do
    if [ ! -e "$root$path" ]; then continue; fi
    if ours "$path"; then
      rm -f "$root$path"
      tidy "$(dirname "$path")"
    else
      echo "kept: $path was changed after it was installed"
      kept=$((kept + 1))
    fi
  done <"$root$list"
  rm -rf "$root/var/lib/sluice-install"
  if live; then reload; fi
  if [ "$purge" = yes ]; then rm -rf "$root/etc/sluice" "$root/var/lib/sluice" "$root/var/cache/sluice" "$root/run/sluice"
  else
    for each in /etc/sluice /var/lib/sluice; do
      if [ -d "$root$each" ]; then echo "left: $each, with configuration, keys and content (--purge removes it)"; fi
    done
  fi
  echo "Sluice is removed"
}

# Directories that nothing is in any more, as far as they are ours by name.
tidy() {
  case $1 in
    *sluice*) rmdir "$root$1" 2>/dev/null && tidy "$(dirname "$1")" || true ;;
  esac
}

status() {
  [ -f "$root$list" ] || {
    echo "nothing is installed"
    return 0
  }
  while read -r _ path; do
    if [ ! -e "$root$path" ]; then echo "missing  $path"
    elif ours "$path"; then echo "ok       $path"
    else echo "changed  $path"; fi
  done <"$root$list"
}

case $action in
  install) install_all ;;
  uninstall) uninstall_all ;;
  status) status ;;
esac
