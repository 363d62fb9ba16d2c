package main

import (
	"bytes"
	"errors"
	"testing"

	"socialweb.computer/infra-apiserver/internal/kcp/release"
)

// One that kcp doesn't show is said not to bind only where the answer is whole.
func TestPrintWorkspaces(t *testing.T) {
	all := []release.Workspace{
		{Name: "default", Telling: 1, Objects: map[string]int{"infras": 1}},
		{Name: "here", Telling: 2, Objects: map[string]int{"infras": 2, "atprotorepos": 1}},
		{Name: "there", Telling: 2, Flagged: 2, Objects: map[string]int{"ephemeralinfras": 2}},
	}
	for _, c := range []struct {
		asked   bool
		missing error
		want    string
	}{
		{false, nil, `
WORKSPACE   GONE   INFRAS   EPHEMERALINFRAS   INFRACOLLECTIONS   EPHEMERALINFRACOLLECTIONS   COMPUTECONTRACTS   ATPROTOREPOS
default     0/1    1        0                 0                  0                           0                  0
here        0/2    2        0                 0                  0                           0                  1
there       2/2    0        2                 0                  0                           0                  0
`},
		{true, nil, `
WORKSPACE   BINDS   GONE   INFRAS   EPHEMERALINFRAS   INFRACOLLECTIONS   EPHEMERALINFRACOLLECTIONS   COMPUTECONTRACTS   ATPROTOREPOS
default     own     0/1    1        0                 0                  0                           0                  0
here        yes     0/2    2        0                 0                  0                           0                  1
there       no      2/2    0        2                 0                  0                           0                  0
`},
		{true, errors.New("a shard is away"), `
WORKSPACE   BINDS     GONE   INFRAS   EPHEMERALINFRAS   INFRACOLLECTIONS   EPHEMERALINFRACOLLECTIONS   COMPUTECONTRACTS   ATPROTOREPOS
default     own       0/1    1        0                 0                  0                           0                  0
here        yes       0/2    2        0                 0                  0                           0                  1
there       unknown   2/2    0        2                 0                  0                           0                  0
`},
	} {
		var out bytes.Buffer
		if err := printWorkspaces(&out, all, c.asked, map[string]bool{"here": true}, c.missing); err != nil {
			t.Fatal(err)
		}
		if "\n"+out.String() != c.want {
			t.Errorf("asked %t, missing %v:\n%s", c.asked, c.missing, out.String())
		}
	}
}

// What can't work is told before anything is asked.
func TestRefusalsOfKCPRelease(t *testing.T) {
	for _, r := range []refusal{
		{[]string{"kcp", "release"}, []string{"arg"}},
		{[]string{"kcp", "release", "w", "--kubeconfig=/none/such"}, []string{"kubeconfig", "/none/such"}},
		{[]string{"kcp", "workspaces", "--kubeconfig=/none/such"}, []string{"kubeconfig", "/none/such"}},
	} {
		r.check(t)
	}
}
