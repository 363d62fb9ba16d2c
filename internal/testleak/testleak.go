// Package testleak fails a package's tests when they leave a goroutine behind.
package testleak

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a goroutine that was told to end may take. goleak itself waits
// for less than half a second, in which a busy machine may not have run it once.
const patience = time.Minute

// Main is the TestMain of a package: it runs the tests, and fails when they pass and a
// goroutine is left that ignore doesn't name. It doesn't return.
func Main(m goleak.TestingM, ignore ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := Find(ignore...); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines left behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find waits until no goroutine is left that ignore doesn't name. The error tells of
// those that don't end.
func Find(ignore ...goleak.Option) error { return find(time.Now().Add(patience), ignore...) }

// find looks at least once.
func find(end time.Time, ignore ...goleak.Option) error {
	for {
		if err := goleak.Find(ignore...); err == nil || time.Now().After(end) {
			return err
		}
	}
}
