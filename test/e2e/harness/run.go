package harness

import "testing"

// Run starts a program of bin/ and kills it at the test's end. What it prints is in
// Log(name).
func (p *Plane) Run(t testing.TB, name, program string, args ...string) *Process {
	t.Helper()
	proc, err := p.start(name, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proc.kill)
	return proc
}
