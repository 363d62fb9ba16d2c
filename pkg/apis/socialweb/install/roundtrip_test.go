package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/fuzzer"
)

// TestRoundTrip guards every conversion: random internal objects come back from
// JSON, YAML and CBOR of every version as they were.
func TestRoundTrip(t *testing.T) {
	roundtrip.RoundTripTestForAPIGroup(t, Install, fuzzer.Funcs)
}
