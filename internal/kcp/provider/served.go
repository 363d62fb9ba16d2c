package provider

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/version"
)

// minVersion of kcp: the first whose shards read an endpoint slice of any kind, and
// authenticate by their certificate alone.
var minVersion = version.MustParseGeneric("0.32.0")

// flagGate is what each shard needs.
const flagGate = "--feature-gates=CacheAPIs=true"

// kcpVersion is in what /version tells, beside Kubernetes' own: v1.36.0+kcp-v0.32.3.
var kcpVersion = regexp.MustCompile(`\+kcp-v(\d+\.\d+\.\d+)`)

// checkServed looks whether this is a workspace of a kcp that can do it.
func (w *workspace) checkServed() ([]Finding, error) {
	for _, gvr := range apiVersions {
		ok, err := w.serves(gvr)
		if err != nil {
			return nil, err
		}
		if !ok {
			return []Finding{{
				fmt.Sprintf("%s doesn't serve %s of %s: it is no workspace of kcp v%s or newer", w.config.Host, gvr.Resource, gvr.GroupVersion(), minVersion),
				"give a kubeconfig or a --context whose URL ends with /clusters/<path of the provider workspace>",
			}}, nil
		}
	}
	info, err := w.discovery.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("version: %w", err)
	}
	var out []Finding
	if f := checkVersion(info.GitVersion); f != nil {
		out = append(out, *f)
	}
	ok, err := w.serves(cachedResources)
	if err != nil {
		return nil, err
	}
	if !ok {
		out = append(out, Finding{
			fmt.Sprintf("there is no %s of %s: shards could not learn where this server is", cachedResources.Resource, cachedResources.GroupVersion()),
			fmt.Sprintf("kcp v%s or newer is needed, with %s on every shard", minVersion, flagGate),
		})
	}
	return out, nil
}

// checkVersion finds a kcp that is too old. Builds without a version are not judged.
func checkVersion(told string) *Finding {
	m := kcpVersion.FindStringSubmatch(told)
	if m == nil {
		return nil
	}
	v, err := version.ParseGeneric(m[1])
	if err != nil || v.EqualTo(version.MustParseGeneric("0.0.0")) || v.AtLeast(minVersion) {
		return nil
	}
	return &Finding{
		fmt.Sprintf("kcp is v%s: its shards read no endpoint slice but kcp's own", v),
		fmt.Sprintf("update kcp to v%s or newer; until v0.31.6 a shard would send its administrator's token to us", minVersion),
	}
}
