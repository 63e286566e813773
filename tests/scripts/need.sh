#!/usr/bin/env bash
# need.sh [build] [postgres] [rabbitmq] [speech] [python]
# Installs what is missing of each, with apt. Touches nothing, and asks no network, when nothing is missing.
set -euo pipefail

has() { command -v "$1" >/dev/null 2>&1; }

packages=()
wants() { packages+=("$@"); }

for part in "$@"; do
  case $part in
    build) # A linker and the headers of OpenSSL, for the PostgreSQL client that is compiled in.
      has cc || wants build-essential
      has pkg-config || wants pkg-config
      [ -e /usr/include/openssl/ssl.h ] || wants libssl-dev
      ;;
    postgres) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || wants postgresql ;;
    rabbitmq) [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || wants rabbitmq-server ;;
    speech)
      has espeak-ng || wants espeak-ng
      has sox || wants sox
      ;;
    python)
      has python3 || wants python3
      python3 -c 'import ensurepip, venv' 2>/dev/null || wants python3-venv
      ;;
    *)
      echo "need.sh: there is no part named $part" >&2
      exit 2
      ;;
  esac
done

[ ${#packages[@]} -gt 0 ] || exit 0

if ! has apt-get; then
  echo "need.sh: missing ${packages[*]} (Debian's names), and there is no apt-get to install them" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! has sudo; then
    echo "need.sh: missing ${packages[*]}; install them as root" >&2
    exit 1
  fi
  as_root=(sudo)
fi

# Debian starts a service as it installs it, unless this file says no. Ours run privately instead.
readonly POLICY=/usr/sbin/policy-rc.d
remove_policy() { "${as_root[@]}" rm -f "$POLICY"; }
if [ ! -e "$POLICY" ]; then
  trap remove_policy EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$POLICY" >/dev/null
  "${as_root[@]}" chmod 755 "$POLICY"
fi

echo "installing ${packages[*]}" >&2
# Another apt may hold the lock; waiting two minutes for it is better than failing.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120)
"${apt[@]}" update >&2
"${apt[@]}" install -y --no-install-recommends "${packages[@]}" >&2 </dev/null
