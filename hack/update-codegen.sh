#!/usr/bin/env bash
# Writes everything that is generated from the Go API types: deep copies,
# defaults, conversions, OpenAPI definitions with their model names, clientset,
# listers, informers, apply configurations and the schemas for kcp. Works offline,
# from the module cache, at the versions that go.mod names.
#
#   hack/update-codegen.sh            writes into the tree
#   ROOT=DIR hack/update-codegen.sh   writes into a copy of it (see verify-codegen.sh)
set -euo pipefail
cd "${ROOT:-$(dirname "${BASH_SOURCE[0]}")/..}"

MODULE=socialweb.computer/infra-apiserver
BOILERPLATE=hack/boilerplate.go.txt
CODEGEN_PKG=$(go list -m -f '{{.Dir}}' k8s.io/code-generator)

export CGO_ENABLED=0
export GOBIN="${GOBIN:-$PWD/hack/bin}"
mkdir -p "$GOBIN"
# shellcheck source=/dev/null
source "$CODEGEN_PKG/kube_codegen.sh"

kube::codegen::gen_helpers --boilerplate "$BOILERPLATE" pkg/apis

kube::codegen::gen_openapi \
  --output-dir pkg/generated/openapi --output-pkg "$MODULE/pkg/generated/openapi" \
  --output-model-name-file zz_generated.model_name.go \
  --report-filename hack/openapi-violations.list --update-report \
  --boilerplate "$BOILERPLATE" pkg/apis

SCHEMA=$(mktemp)
trap 'rm -f "$SCHEMA"' EXIT
go run ./hack/openapischema > "$SCHEMA"

kube::codegen::gen_client --with-watch --with-applyconfig \
  --applyconfig-openapi-schema "$SCHEMA" \
  --output-dir pkg/generated --output-pkg "$MODULE/pkg/generated" \
  --boilerplate "$BOILERPLATE" pkg/apis

go run ./hack/kcpschemas artifacts/kcp
