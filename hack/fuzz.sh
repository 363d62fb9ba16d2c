#!/usr/bin/env bash
# Runs every fuzz target of the module, two at a time.
#
#   hack/fuzz.sh [FUZZTIME]   as of go test -fuzztime; 2000x by default
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# of runs one target, which git grep has found as file:func Name.
of() {
  go test -run '^$' -fuzz "^${1##*:func }\$" -fuzztime "$FUZZTIME" "./$(dirname "${1%%:*}")"
}
export -f of
export FUZZTIME="${1:-2000x}"

git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | tr '\n' '\0' |
  xargs -0 -P 2 -I '{}' bash -euo pipefail -c 'of "$1"' of '{}'
