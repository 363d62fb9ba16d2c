package export_test

import (
	"testing"

	"socialweb.computer/infra-apiserver/internal/testleak"
)

func TestMain(m *testing.M) { testleak.Main(m) }
