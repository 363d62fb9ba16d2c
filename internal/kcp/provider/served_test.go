package provider

import (
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	for told, old := range map[string]bool{
		"v1.36.0+kcp-v0.32.3":                    false,
		"v1.36.0+kcp-v0.32.0":                    false,
		"v1.37.1+kcp-v0.33.0-12-gabcdef12345678": false,
		"v1.40.0+kcp-v1.0.0":                     false,
		"v1.35.0+kcp-v0.31.6":                    true,
		"v1.33.0+kcp-v0.9.2":                     true,
		"v1.36.0+kcp-v0.0.0-4d6f1f1a":            false, // a build without tags
		"v1.37.2":                                false, // it doesn't tell
		"":                                       false,
		"v1.36.0+kcp-v0.32.3-rc.1":               false,
		"v1.31.6+kcp-v0.27.1-4-g0d3b1f3a9c7e11-custom": true,
	} {
		f := checkVersion(told)
		if (f != nil) != old {
			t.Errorf("%s: %v", told, f)
		}
		if f != nil && (!strings.Contains(f.Remedy, "v0.32.0") || !strings.HasPrefix(f.Fault, "kcp is v0.")) {
			t.Errorf("%s: %v", told, f)
		}
	}
}
