package cases

import "testing"

func TestMain(m *testing.M) { run(m) }
