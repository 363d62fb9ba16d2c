#!/usr/bin/env bash
# Fails with a diff when the generated Go code isn't what hack/update-codegen.sh
# would write.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

COPY=$(mktemp -d)
trap 'rm -rf "$COPY"' EXIT
mkdir -p "$COPY/hack" "$COPY/pkg" "$COPY/artifacts"
cp go.mod go.sum "$COPY"
cp -r hack/boilerplate.go.txt hack/openapi-violations.list hack/openapischema hack/kcpschemas "$COPY/hack"
cp -r pkg/apis pkg/generated "$COPY/pkg"
cp -r artifacts/kcp "$COPY/artifacts"

GOBIN="${GOBIN:-$PWD/hack/bin}" ROOT="$COPY" "$PWD/hack/update-codegen.sh" > "$COPY/log" 2>&1 ||
  { cat "$COPY/log" >&2; exit 1; }

stale=0
for path in hack/openapi-violations.list pkg/apis pkg/generated artifacts/kcp; do
  diff -ru "$path" "$COPY/$path" || stale=1
done
if [ "$stale" = 1 ]; then
  echo "generated code is out of date: run hack/update-codegen.sh" >&2
  exit 1
fi
