package apiserver

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// The flags that operators of aggregated servers and of kcp pass to any server.
func TestFlagsOfOtherOperators(t *testing.T) {
	o := NewOptions()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.AddFlags(fs)
	err := fs.Parse([]string{
		"--tls-cert-file=c", "--tls-private-key-file=k", "--client-ca-file=ca", "--requestheader-client-ca-file=rca",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-uid-headers=X-Remote-Uid", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-allowed-names=proxy",
		"--kubeconfig=kc", "--authentication-kubeconfig=kc", "--authorization-kubeconfig=kc",
		"--bind-address=127.0.0.1", "--secure-port=8443", "--etcd-servers=http://127.0.0.1:2379", "--etcd-prefix=/p",
		"--audit-log-path=-", "--audit-policy-file=p", "--tracing-config-file=t", "--feature-gates=WatchList=true",
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Recommended.SecureServing.BindPort != 8443 || o.Recommended.Etcd.StorageConfig.Prefix != "/p" {
		t.Errorf("port %d, prefix %q", o.Recommended.SecureServing.BindPort, o.Recommended.Etcd.StorageConfig.Prefix)
	}
}

func TestOptionsSayWhatIsWrong(t *testing.T) {
	o := NewOptions()
	o.Repos = &RepoOptions{CredentialsDir: "d", CredentialsNamespace: "n", PLCURL: "://", RequestRate: -1, PollInterval: -1}
	err := o.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"--etcd-servers", "--credentials-dir", "--plc-url", "--pds-request-rate", "--poll-interval"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %s", err, want)
		}
	}
}

func TestTextCodecs(t *testing.T) {
	for _, info := range (textCodecs{Codecs}).SupportedMediaTypes() {
		if info.MediaType != runtime.ContentTypeJSON && info.MediaType != runtime.ContentTypeYAML {
			t.Errorf("offers %s", info.MediaType)
		}
	}
	if len((textCodecs{Codecs}).SupportedMediaTypes()) != 2 {
		t.Error("JSON or YAML is missing")
	}
}

func TestOneKubeconfigServesAll(t *testing.T) {
	o := NewOptions()
	o.Recommended.CoreAPI.CoreAPIKubeconfigPath = "one"
	o.Recommended.Authorization.RemoteKubeConfigFile = "own"
	o.Complete()
	if got := o.Recommended.Authentication.RemoteKubeConfigFile; got != "one" {
		t.Errorf("authentication by %q", got)
	}
	if got := o.Recommended.Authorization.RemoteKubeConfigFile; got != "own" {
		t.Errorf("authorization by %q", got)
	}
	(&Options{Recommended: &genericoptions.RecommendedOptions{}}).Complete() // nothing to complete
}
