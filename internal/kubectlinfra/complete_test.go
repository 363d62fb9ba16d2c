package kubectlinfra

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"socialweb.computer/infra-apiserver/internal/testwait"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// offered are the words that the shell offers in time: where the server took longer there
// may be none, and it is asked again.
func (p plugin) offered(t *testing.T, args ...string) (out []string) {
	t.Helper()
	testwait.Until(t, "completion in time", func() error {
		begin := time.Now()
		out = p.complete(t, args...)
		if took := time.Since(begin); took >= completionTime {
			return fmt.Errorf("it took %s", took)
		}
		return nil
	})
	return out
}

// complete tells the words that the shell offers, without their descriptions.
func (p plugin) complete(t *testing.T, args ...string) []string {
	t.Helper()
	var text strings.Builder
	code := Run(t.Context(), append([]string{"__complete", "--kubeconfig", p.Kubeconfig}, args...), Streams{Out: &text, Err: io.Discard})
	if code != 0 {
		t.Fatalf("complete %v: exit %d\n%s", args, code, &text)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if last := lines[len(lines)-1]; last != ":4" { // cobra.ShellCompDirectiveNoFileComp
		t.Errorf("complete %v ends with %s", args, last)
	}
	var out []string
	for _, l := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(l, "\t")
		out = append(out, word)
	}
	return out
}

func testCompletion(t *testing.T, p plugin) {
	p.create(t, "completed", contracts("front", "back")...)
	for _, c := range []struct {
		args      []string
		want, not string
	}{
		{[]string{""}, "tree", "einf/none"},
		{[]string{"tree", ""}, "completed", "front"},
		{[]string{"tree", "completed", ""}, "", "completed"},
		{[]string{"record", "completed", ""}, "", "completed"},
		{[]string{"request", "completed", ""}, "front", "completed"},
		{[]string{"release", "completed", "front", ""}, "back", "front"},
		{[]string{"wait", "completed", "--for", ""}, "contract/front=Deployed", ""},
		{[]string{"wait", "completed", "--for", "phase="}, "phase=Degraded", ""},
		{[]string{"request", "--ephemeral", "completed", ""}, "", "front"},
		{[]string{"request", "completed", "front", "-o", ""}, "yaml", "front"},
		{[]string{"tree", "--context", ""}, "infra-dev", "completed"},
	} {
		got := p.offered(t, c.args...)
		if c.want != "" && !slices.Contains(got, c.want) || c.not != "" && slices.Contains(got, c.not) {
			t.Errorf("complete %q offers %q, want %q and not %q", c.args, got, c.want, c.not)
		}
	}
}

// TestTypesOfTheCommandLine: every name of a kind, as kubectl takes it.
func TestTypesOfTheCommandLine(t *testing.T) {
	f := &factory{}
	for arg, want := range map[string]target{
		"web": {infras, "web"}, "inf/web": {infras, "web"}, "Infra/web": {infras, "web"},
		"infras.socialweb.computer/web":          {infras, "web"},
		"infras.v1alpha1.socialweb.computer/web": {infras, "web"},
		"einf/web":                               {ephemeralInfras, "web"},
		"infcol/theirs":                          {infraCollections, "theirs"},
		"ephemeralinfracollection/theirs":        {ephemeralInfraCollections, "theirs"},
	} {
		got, err := f.target(arg, infras, ephemeralInfras, infraCollections, ephemeralInfraCollections)
		if err != nil || got != want {
			t.Errorf("%s is %v, %v", arg, got, err)
		}
	}
	if got, err := (&factory{ephemeral: true}).target("web", infras); err != nil || got.kind.name != "EphemeralInfra" {
		t.Errorf("--ephemeral web is %v, %v", got, err)
	}
	if want := v1alpha1.SchemeGroupVersion.Group; !strings.HasSuffix((target{infras, "web"}).String(), want+"/web") {
		t.Errorf("%s lacks its group %s", target{infras, "web"}, want)
	}
}
