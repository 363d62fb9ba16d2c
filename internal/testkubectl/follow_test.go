package testkubectl

import (
	"errors"
	"testing"

	"socialweb.computer/infra-apiserver/internal/testwait"
)

// A command that says more than anybody reads ends with its test.
func TestFollowEnds(t *testing.T) {
	k := &Kubectl{binary: "/bin/sh"}
	t.Run("many lines", func(t *testing.T) {
		lines := k.Follow(t, "-c", `i=0; while [ $i -lt 1000 ]; do echo "line $i"; i=$((i+1)); done; exec sleep 600`)
		if seen := Expect(t, lines, "line", "1"); len(seen) != 2 || seen[0] != "line 0" || seen[1] != "line 1" {
			t.Errorf("%q", seen)
		}
		testwait.Until(t, "more lines than are taken", func() error {
			if len(lines) < cap(lines) {
				return errors.New("not yet")
			}
			return nil
		})
	})
}
