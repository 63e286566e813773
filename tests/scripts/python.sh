#!/usr/bin/env bash
# Makes .venv with what the client in Python needs, and prints the path of its interpreter.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
wanted=$root/tests/scripts/requirements.txt
venv=$root/.venv

# The copy is made last: with it, the folder is complete and of this list.
if ! cmp -s "$wanted" "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet --disable-pip-version-check --timeout 60 --retries 3 \
    --only-binary :all: -r "$wanted" >&2
  cp "$wanted" "$venv/requirements.txt"
fi
echo "$venv/bin/python"
