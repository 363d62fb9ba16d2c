package provider

import (
	"strings"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	good := Options{URLs: []string{"https://kcp.example.com/services/infra"}, Export: DefaultExport, Timeout: time.Second}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no URL":        {func(o *Options) { o.URLs = nil }, "--url is needed"},
		"no scheme":     {func(o *Options) { o.URLs[0] = "kcp.example.com/services/infra" }, "https://"},
		"plain":         {func(o *Options) { o.URLs[0] = "http://kcp.example.com/services/infra" }, "https://"},
		"no host":       {func(o *Options) { o.URLs[0] = "https:///services/infra" }, "https://"},
		"password":      {func(o *Options) { o.URLs[0] = "https://a:hunter2@kcp.example.com/services/infra" }, "a host and a path alone"},
		"query":         {func(o *Options) { o.URLs[0] += "?a=b" }, "a host and a path alone"},
		"fragment":      {func(o *Options) { o.URLs[0] += "#" }, "a host and a path alone"},
		"slash":         {func(o *Options) { o.URLs[0] += "/" }, "must not end with /"},
		"workspace":     {func(o *Options) { o.URLs[0] += "/clusters/root" }, "must not name a workspace"},
		"all":           {func(o *Options) { o.URLs[0] += "/clusters" }, "must not name a workspace"},
		"no URL at all": {func(o *Options) { o.URLs[0] = "https://kcp.example.com:port/" }, "no URL"},
		"twice":         {func(o *Options) { o.URLs = append(o.URLs, o.URLs[0]) }, "twice"},
		"export":        {func(o *Options) { o.Export = "Compute/Contracts" }, "--export"},
		"no export":     {func(o *Options) { o.Export = "" }, "--export"},
		"timeout":       {func(o *Options) { o.Timeout = 0 }, "--timeout"},
	} {
		o := good
		o.URLs = append([]string(nil), good.URLs...)
		c.change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// With another name of the export nothing of the usual one is left: both can be in one
// workspace.
func TestObjectsOfAnotherExport(t *testing.T) {
	names := map[string]string{}
	for _, export := range []string{DefaultExport, "mine"} {
		o := Options{URLs: []string{"https://a.example.com/services/infra", "https://b.example.com/x"}, Export: export}
		objects, err := o.objects()
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objects {
			raw, err := obj.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			text := string(raw)
			switch obj.GetKind() {
			case "APIExport", "ClusterRole", "ClusterRoleBinding":
				if !strings.HasPrefix(obj.GetName(), export) || names[label(obj)] != "" {
					t.Errorf("%s has the name %s", obj.GetKind(), obj.GetName())
				}
				names[label(obj)] = export
				if export != DefaultExport && (strings.Contains(text, DefaultExport+"-") || strings.Contains(text, `"resourceNames":["`+DefaultExport+`"]`)) {
					t.Errorf("%s is of %s: %s", obj.GetName(), DefaultExport, text)
				}
			case "InfraEndpointSlice":
				if !strings.Contains(text, `"endpoints":[{"url":"https://a.example.com/services/infra"},{"url":"https://b.example.com/x"}]`) {
					t.Errorf("endpoints %s", text)
				}
			}
		}
	}
	if len(names) != 12 {
		t.Errorf("objects of an export: %v", names)
	}
}
