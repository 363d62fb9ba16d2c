#!/usr/bin/env bash
# Writes the Go types of the record lexicons: lexgen (of indigo, at the version
# of go.mod) makes the structs, cborgen their encoders.
#
#   hack/update-lexicons.sh            writes into the tree
#   ROOT=DIR hack/update-lexicons.sh   writes into a copy of it (see verify-lexicons.sh)
set -euo pipefail
cd "${ROOT:-$(dirname "${BASH_SOURCE[0]}")/..}"

export CGO_ENABLED=0
OUT=internal/atproto/socialweb
rm -f "$OUT"/socialweb*.go "$OUT"/zz_generated.cbor.go

# lexgen narrates on its standard output; a failure shows on the other.
go tool lexgen --build-file hack/lexgen.json lexicons > /dev/null

# What lexgen writes registers the records as CBOR types, so it compiles only
# with encoders, and cborgen needs the compiled types to write them: start it
# with empty ones.
cat > "$OUT/zz_generated.cbor.go" <<'STUB'
package socialweb

import "io"

func (*Infra) MarshalCBOR(io.Writer) error            { return nil }
func (*Infra) UnmarshalCBOR(io.Reader) error          { return nil }
func (*EphemeralInfra) MarshalCBOR(io.Writer) error   { return nil }
func (*EphemeralInfra) UnmarshalCBOR(io.Reader) error { return nil }
STUB
go run ./hack/cborgen
gofmt -w "$OUT"
