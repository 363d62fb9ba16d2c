package contracttest

import (
	"testing"

	"socialweb.computer/infra-apiserver/internal/testpds"
)

// TestReferencePDS: the PDS that defines the behaviour.
func TestReferencePDS(t *testing.T) { Run(t, testpds.StartReference) }

// TestEmbeddedPDS: the one that ships with us.
func TestEmbeddedPDS(t *testing.T) { Run(t, testpds.StartDev) }
