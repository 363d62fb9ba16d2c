// Command cborgen writes the DAG-CBOR encoders of the generated record types.
// hack/update-lexicons.sh runs it after lexgen, from the root of the module.
package main

import (
	"log"

	cbg "github.com/whyrusleeping/cbor-gen"

	"socialweb.computer/infra-apiserver/internal/atproto/socialweb"
)

// maxRecord bounds a string and a byte string in a record, in bytes: no PDS takes
// a larger record.
const maxRecord = 1_000_000

func main() {
	gen := cbg.Gen{MaxStringLength: maxRecord, MaxByteLength: maxRecord}
	err := gen.WriteMapEncodersToFile("internal/atproto/socialweb/zz_generated.cbor.go", "socialweb",
		socialweb.EphemeralInfra{}, socialweb.EphemeralInfra_Status{},
		socialweb.Infra{}, socialweb.Infra_Contract{}, socialweb.Infra_ContractStatus{}, socialweb.Infra_Status{},
	)
	if err != nil {
		log.Fatalf("cborgen: %v", err)
	}
}
