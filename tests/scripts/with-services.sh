#!/usr/bin/env bash
# with-services.sh [postgres] [rabbitmq] -- COMMAND...
# Runs the command beside private services: on free ports of 127.0.0.1, with their data in a temporary folder.
# They are found in CALLWRIGHT_TEST_POSTGRES and CALLWRIGHT_TEST_AMQP. Whatever happens to the command, what was
# started here, and nothing else, is stopped again. Says nothing on stdout.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
services=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in
    postgres | rabbitmq) services+=("$1") ;;
    *) echo "with-services.sh: there is no service named $1" >&2; exit 2 ;;
  esac
  shift
done
if [ $# -lt 2 ]; then
  echo "usage: with-services.sh [postgres] [rabbitmq] -- COMMAND..." >&2
  exit 2
fi
shift

readonly START_SECONDS=60 # a cold disk and a loaded machine included; both take about five
readonly STOP_SECONDS=20
readonly TRIES=5 # a port seen free may be taken before it is bound

folder=$(mktemp -d "${TMPDIR:-/tmp}/callwright-services.XXXXXX")
chmod 755 "$folder"
started=() # "PID SIGNAL", oldest first
command_pid=

say() { echo "with-services.sh: $*" >&2; }

alive() { kill -0 "$1" 2>/dev/null; }

# end PID SIGNAL: asks, waits, then insists. Each of ours leads its own process group.
end() {
  local pid=$1 signal=$2 deadline=$((SECONDS + STOP_SECONDS))
  kill "-$signal" "$pid" 2>/dev/null || true
  while alive "$pid" && [ $SECONDS -lt $deadline ]; do sleep 0.1; done
  if alive "$pid"; then
    say "process $pid does not stop; killing it"
  fi
  kill -KILL -- "-$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

stop_everything() {
  local place entry
  trap '' INT TERM HUP
  if [ -n "$command_pid" ] && alive "$command_pid"; then
    kill -TERM -- "-$command_pid" 2>/dev/null || true
    end "$command_pid" TERM
  fi
  for ((place = ${#started[@]} - 1; place >= 0; place--)); do
    read -ra entry <<<"${started[place]}"
    end "${entry[0]}" "${entry[1]}"
  done
  rm -rf "$folder"
}
trap stop_everything EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# A port that nobody listens on, below the range from which connections get theirs.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
}

# await PID TEST...: waits until the test passes; fails when the process ends or the time is up.
await() {
  local pid=$1 deadline=$((SECONDS + START_SECONDS))
  shift
  while ! "$@" >/dev/null 2>&1; do
    alive "$pid" || return 1
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.1
  done
}

is_open() { (: <"/dev/tcp/127.0.0.1/$1"); }

random_word() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# apart NAME SIGNAL COMMAND...: starts a service in a session of its own, so that Ctrl-C reaches only this script, and
# has the kernel send it the signal should this script be killed. The process id is in $!.
apart() {
  local name=$1 signal=$2
  shift 2
  setsid setpriv --pdeathsig "$signal" "$@" </dev/null >>"$folder/$name.log" 2>&1 &
}

fail() { # NAME
  say "$1 did not start; the end of its log:"
  tail -n 20 "$folder/$1.log" >&2 || true
  exit 1
}

start_postgres() {
  local bin data=$folder/postgres try port pid password
  local -a as_postgres=()
  bin=$(compgen -G '/usr/lib/postgresql/*/bin' | sort -V | tail -n 1)
  mkdir -m 700 "$data"
  password=$(random_word)
  echo "$password" >"$data/password"
  if [ "$(id -u)" -eq 0 ]; then # PostgreSQL refuses to run as root.
    chown -R postgres: "$data"
    as_postgres=(--reuid postgres --regid postgres --init-groups)
  fi
  (cd "$data" && setpriv "${as_postgres[@]}" "$bin/initdb" -D "$data/data" -U callwright \
    --pwfile="$data/password" --auth-host=scram-sha-256 --auth-local=trust -E UTF8 --locale=C.UTF-8 --no-sync) \
    >"$folder/postgres.log" 2>&1 || fail postgres
  for ((try = 0; try < TRIES; try++)); do
    port=$(free_port)
    # What is tested is gone afterwards, so nothing need reach the disk.
    apart postgres INT "${as_postgres[@]}" "$bin/postgres" -D "$data/data" -p "$port" -k "$data" \
      -c listen_addresses=127.0.0.1 -c max_connections=200 -c fsync=off -c full_page_writes=off
    pid=$!
    started+=("$pid INT") # a fast shutdown: open connections are ended
    if await "$pid" "$bin/pg_isready" -h 127.0.0.1 -p "$port" -U callwright; then
      "$bin/createdb" -h "$data" -p "$port" -U callwright callwright || fail postgres
      export CALLWRIGHT_TEST_POSTGRES=postgres://callwright:$password@127.0.0.1:$port/callwright
      return
    fi
    end "$pid" INT
    unset 'started[-1]'
  done
  fail postgres
}

start_rabbitmq() {
  local home=$folder/rabbitmq try port epmd_port pid epmd_pid
  mkdir "$home"
  : >"$home/env.conf"
  echo '[].' >"$home/enabled_plugins"
  for ((try = 0; try < TRIES; try++)); do
    port=$(free_port)
    # The port mapper of Erlang would otherwise be shared with, and outlive us for, the whole machine.
    epmd_port=$(free_port)
    apart epmd TERM epmd -port "$epmd_port" -address 127.0.0.1
    epmd_pid=$!
    started+=("$epmd_pid TERM")
    printf 'listeners.tcp.1 = 127.0.0.1:%s\ndisk_free_limit.absolute = 50MB\n' "$port" >"$home/rabbitmq.conf"
    # RUNNING_UNDER_SYSTEMD puts the broker itself, and no shell around it, into the process we started.
    apart rabbitmq TERM env HOME="$home" \
      ERL_EPMD_PORT="$epmd_port" ERL_EPMD_ADDRESS=127.0.0.1 \
      RABBITMQ_NODENAME="callwright-$$@localhost" RABBITMQ_NODE_PORT="$port" RABBITMQ_DIST_PORT="$(free_port)" \
      RABBITMQ_CONF_ENV_FILE="$home/env.conf" RABBITMQ_CONFIG_FILE="$home/rabbitmq.conf" \
      RABBITMQ_MNESIA_BASE="$home/mnesia" RABBITMQ_LOG_BASE="$home/log" RABBITMQ_PID_FILE="$home/pid" \
      RABBITMQ_ENABLED_PLUGINS_FILE="$home/enabled_plugins" RUNNING_UNDER_SYSTEMD=true \
      /usr/lib/rabbitmq/bin/rabbitmq-server
    pid=$!
    started+=("$pid TERM")
    if await "$pid" is_open "$port"; then
      export CALLWRIGHT_TEST_AMQP=amqp://guest:guest@127.0.0.1:$port/%2f
      return
    fi
    end "$pid" TERM
    end "$epmd_pid" TERM
    unset 'started[-1]' 'started[-1]'
  done
  fail rabbitmq
}

[ ${#services[@]} -eq 0 ] || "$here/need.sh" "${services[@]}"
for service in "${services[@]}"; do "start_$service"; done

# The command leads a process group of its own: what it started ends with it. A shell lets what runs in the
# background ignore Ctrl-C; the tests need the usual meaning of the signals they send.
setsid env --default-signal=INT,QUIT "$@" &
command_pid=$!
code=0
wait "$command_pid" || code=$?
exit "$code"
