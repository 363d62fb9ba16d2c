#!/usr/bin/env bash
# Checks that need no compiler: Go files are formatted, hand-written ones hold
# one concept each (500 lines at most), scripts parse, and no link in a document
# points at a file that isn't there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MAX_LINES=500
failed=0
complain() {
  echo "$1" >&2
  failed=1
}

mapfile -t go_files < <(git ls-files '*.go')
unformatted=$(gofmt -l "${go_files[@]}")
[ -z "$unformatted" ] || complain "not formatted (gofmt -w):"$'\n'"$unformatted"

for file in "${go_files[@]}"; do
  [ "$(wc -l < "$file")" -le "$MAX_LINES" ] || grep -qm1 '^// Code generated .* DO NOT EDIT\.$' "$file" ||
    complain "$file has more than $MAX_LINES lines: one concept a file"
done

mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
for script in "${scripts[@]}"; do
  bash -n "$script" || complain "$script doesn't parse"
  [ -x "$script" ] || complain "$script lacks its run bit"
done

mapfile -t documents < <(git ls-files '*.md')
for document in "${documents[@]}"; do
  while read -r target; do
    [ -e "$(dirname "$document")/${target%%#*}" ] || complain "$document links to $target, which isn't there"
  done < <(grep -oE '\]\([^)]+\)' "$document" | sed -E 's/^\]\((.*)\)$/\1/' | grep -vE '^(https?:|#)' || true)
done

exit "$failed"
