#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other.
#
#   hack/fuzz.sh [FUZZTIME]   as of go test -fuzztime; 2000x by default
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t targets < <(git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go')
for target in "${targets[@]}"; do
  go test -run '^$' -fuzz "^${target##*:func }\$" -fuzztime "${1:-2000x}" "./$(dirname "${target%%:*}")"
done
