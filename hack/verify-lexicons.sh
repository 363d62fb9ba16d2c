#!/usr/bin/env bash
# Fails with a diff when the Go types of the lexicons aren't what
# hack/update-lexicons.sh would write.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

OUT=internal/atproto/socialweb
COPY=$(mktemp -d)
trap 'rm -rf "$COPY"' EXIT
mkdir -p "$COPY/$OUT" "$COPY/hack"
cp go.mod go.sum "$COPY"
cp -r hack/cborgen hack/lexgen.json "$COPY/hack"
cp -r lexicons "$COPY"
cp -r "$OUT" "$COPY/internal/atproto"

ROOT="$COPY" "$PWD/hack/update-lexicons.sh"
if ! diff -ru "$OUT" "$COPY/$OUT"; then
  echo "$OUT is out of date: run hack/update-lexicons.sh" >&2
  exit 1
fi
