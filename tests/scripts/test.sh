#!/usr/bin/env bash
# Everything `make test` does: install what is missing, build, run every test beside a private PostgreSQL.
# The test runner has the last word on the output.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

timed() { # WHAT COMMAND...
  local what=$1 began=$SECONDS
  shift
  "$@"
  echo "$what: $((SECONDS - began)) s" >&2
}

timed "installed what the tests need" tests/scripts/need.sh build postgres speech python
CALLWRIGHT_TEST_PYTHON=$(tests/scripts/python.sh)
export CALLWRIGHT_TEST_PYTHON
timed "built the tests" cargo test --workspace --no-run
exec tests/scripts/with-services.sh postgres -- cargo test --workspace --no-fail-fast
