#!/usr/bin/env bash
# Everything `make lint` does; nothing here reads the network beyond the crates themselves.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tests/scripts/need.sh build
cargo fmt --all --check
cargo clippy --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
for script in "${scripts[@]}"; do bash -n "$script"; done
if command -v shellcheck >/dev/null; then shellcheck "${scripts[@]}"; fi
