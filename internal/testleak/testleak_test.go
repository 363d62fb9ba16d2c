package testleak

import (
	"strings"
	"testing"
	"time"
)

// A goroutine that ends late is none that is left; one that doesn't end is told.
func TestFind(t *testing.T) {
	end := make(chan struct{})
	go func() { <-end }()
	if err := find(time.Now()); err == nil || !strings.Contains(err.Error(), "TestFind") {
		t.Errorf("while one runs: %v", err)
	}
	time.AfterFunc(time.Second, func() { close(end) }) // goleak alone waits for half of it
	if err := Find(); err != nil {
		t.Errorf("once it has ended: %v", err)
	}
}
