package testkubectl

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testwait"
)

// Follow runs a command that goes on until the test's end, and returns its lines. Lines
// that nobody takes keep neither from ending.
func (k *Kubectl) Follow(t testing.TB, args ...string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := k.Command(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		s := bufio.NewScanner(out)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = cmd.Wait() // it was killed
	})
	return lines
}

// Expect waits for a line that contains all of want, and returns the lines up to it.
func Expect(t testing.TB, lines <-chan string, want ...string) (seen []string) {
	t.Helper()
	timeout := time.After(testwait.Patience)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the command ended without %v: %q", want, seen)
			}
			seen = append(seen, line)
			found := true
			for _, w := range want {
				found = found && strings.Contains(line, w)
			}
			if found {
				return seen
			}
		case <-timeout:
			t.Fatalf("no line with %v within %s: %q", want, testwait.Patience, seen)
		}
	}
}
