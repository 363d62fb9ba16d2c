package release_test

import (
	"testing"

	"socialweb.computer/infra-apiserver/internal/testdev"
)

func TestMain(m *testing.M) { testdev.Main(m) }
