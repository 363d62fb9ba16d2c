package testwait

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// What comes ends the waiting; what doesn't is told by what was said last. It is looked at
// once more when the time is over, for one look may have taken all of it.
func TestUntil(t *testing.T) {
	const many = int(Patience/shortest) + 2
	for name, c := range map[string]struct {
		comes int           // at which look; 0: never
		took  time.Duration // of a look
		looks int
	}{
		"at once":               {comes: 1, looks: 1},
		"later":                 {comes: 3, looks: 3},
		"never":                 {looks: many},
		"after a slow look":     {comes: 2, took: 2 * Patience, looks: 2},
		"never, by a slow look": {took: 2 * Patience, looks: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				err := until(time.Now().Add(Patience), func() error {
					time.Sleep(c.took)
					if looks++; looks == c.comes {
						return nil
					}
					return fmt.Errorf("look %d", looks)
				})
				if looks != c.looks {
					t.Errorf("%d looks, want %d", looks, c.looks)
				}
				if want := fmt.Sprintf("look %d", c.looks); (err == nil) != (c.comes > 0) || err != nil && err.Error() != want {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
