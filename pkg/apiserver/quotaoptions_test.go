package apiserver

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"socialweb.computer/infra-apiserver/internal/usage"
)

// TestQuotaOptions: flags are read, and what can't be is told with a remedy.
func TestQuotaOptions(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		limits usage.Limits
		fault  string
	}{
		"":                             {usage.Limits{}, ""},
		"--workspace-max-objects=7":    {usage.Limits{Objects: 7}, ""},
		"--workspace-max-bytes=64Mi":   {usage.Limits{Bytes: 64 << 20}, ""},
		"--workspace-max-bytes=1e3":    {usage.Limits{Bytes: 1000}, ""},
		"--workspace-max-bytes=0":      {usage.Limits{}, ""},
		"--workspace-max-objects=-1":   {usage.Limits{Objects: -1}, "give a number, or 0 for any number"},
		"--workspace-max-bytes=-1Mi":   {usage.Limits{}, "write it like 64Mi"},
		"--workspace-max-bytes=much":   {usage.Limits{}, "write it like 64Mi"},
		"--workspace-max-bytes=100E":   {usage.Limits{}, "write it like 64Mi"},
		"--workspace-write-rate=-2":    {usage.Limits{}, "0 for any number"},
		"--workspace-max-inflight=-10": {usage.Limits{}, "give a number, or 0 for any number"},
		"--workspace-max-watches=-10":  {usage.Limits{}, "give a number, or 0 for any number"},
	} {
		o := NewQuotaOptions()
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o.AddFlags(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		errs := o.Validate()
		switch {
		case o.limits() != want.limits:
			t.Errorf("%s: %+v", args, o.limits())
		case want.fault == "" && len(errs) > 0:
			t.Errorf("%s: %v", args, errs)
		case want.fault != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), want.fault) || !strings.Contains(args, strings.Fields(errs[0].Error())[0])):
			t.Errorf("%s: %v", args, errs)
		}
	}
	if o := (*QuotaOptions)(nil); o.Validate() != nil || o.limits() != (usage.Limits{}) {
		t.Error("without options there are limits")
	}
	if NewQuotaOptions().MaxInflight != 100 {
		t.Error("the default")
	}
}
