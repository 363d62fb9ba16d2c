package provider

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	cachev1alpha1 "github.com/kcp-dev/sdk/apis/cache/v1alpha1"
	conditionsv1alpha1 "github.com/kcp-dev/sdk/apis/third_party/conditions/apis/conditions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
)

// conditions from TYPE=STATUS.
func conditions(all ...string) conditionsv1alpha1.Conditions {
	var out conditionsv1alpha1.Conditions
	for _, c := range all {
		name, status, _ := strings.Cut(c, "=")
		out = append(out, conditionsv1alpha1.Condition{
			Type: conditionsv1alpha1.ConditionType(name), Status: corev1.ConditionStatus(status), Reason: "Because", Message: "of something",
		})
	}
	return out
}

func TestCachedFault(t *testing.T) {
	all := []string{"ResourceValid=True", "IdentityValid=True", "ReplicationStarted=True"}
	for name, c := range map[string]struct {
		conditions []string
		phase      cachev1alpha1.CachedResourcePhaseType
		want       string // "": it is ready
	}{
		"ready":        {all, "Ready", ""},
		"nobody looks": {nil, "", "isn't looked at by anybody"},
		"not started":  {all[:2], "Initializing", "ReplicationStarted=Unknown"},
		"invalid":      {[]string{"ResourceValid=False", "IdentityValid=True"}, "Initializing", "ResourceValid=False Because of something, ReplicationStarted=Unknown"},
		"goes":         {all, "Deleting", "is Deleting"},
	} {
		f := cachedFault("it", &cachev1alpha1.CachedResourceStatus{Phase: c.phase, Conditions: conditions(c.conditions...)})
		if (f == nil) != (c.want == "") || f != nil && !strings.Contains(f.Fault, c.want) {
			t.Errorf("%s: %v", name, f)
		}
		if f != nil && len(c.conditions) == 0 && !strings.Contains(f.Remedy, "--feature-gates=CacheAPIs=true") {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestExportFault(t *testing.T) {
	for name, c := range map[string]struct {
		conditions []string
		want       string
	}{
		"ready":        {[]string{"IdentityValid=True"}, ""},
		"nobody looks": {nil, "isn't looked at by anybody"},
		"no identity":  {[]string{"IdentityValid=False"}, "IdentityValid=False Because of something"},
		"another one":  {[]string{"Other=True"}, "IdentityValid=Unknown"},
	} {
		f := exportFault("it", &apisv1alpha2.APIExportStatus{Conditions: conditions(c.conditions...)})
		if (f == nil) != (c.want == "") || f != nil && !strings.Contains(f.Fault, c.want) {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestAwait(t *testing.T) {
	missing, broken := &Finding{Fault: "missing"}, errors.New("broken")
	asked := 0
	if f, err := await(t.Context(), time.Minute, func(context.Context) (*Finding, error) {
		asked++
		if asked == 1 {
			return nil, broken // it passes
		}
		return nil, nil
	}); f != nil || err != nil || asked != 2 {
		t.Errorf("%v, %v after %d", f, err, asked)
	}
	if f, err := await(t.Context(), time.Millisecond, func(context.Context) (*Finding, error) { return missing, nil }); f != missing || err != nil {
		t.Errorf("%v, %v", f, err)
	}
	if f, err := await(t.Context(), time.Millisecond, func(context.Context) (*Finding, error) { return nil, broken }); f != nil || !errors.Is(err, broken) {
		t.Errorf("%v, %v", f, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := await(ctx, time.Minute, func(context.Context) (*Finding, error) { return missing, nil }); f != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", f, err)
	}
}
