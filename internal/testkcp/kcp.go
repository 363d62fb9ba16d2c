package testkcp

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apisv1alpha1 "github.com/kcp-dev/sdk/apis/apis/v1alpha1"
	apisv1alpha2 "github.com/kcp-dev/sdk/apis/apis/v1alpha2"
	conditions "github.com/kcp-dev/sdk/apis/third_party/conditions/apis/conditions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// What every KCP has.
const (
	// Export is the name of the APIExport.
	Export = "computecontracts"
	// Provider is the workspace that has it.
	Provider = "2provider"
	// Token is who may read.
	Token = "kcp-token"
)

// KCP is a kcp with one APIExport.
type KCP struct {
	// Config leads to the provider's workspace.
	Config *rest.Config

	server *httptest.Server
	shards []*Shard

	mu sync.Mutex // guards what follows, of the shards too
	// fault answers a request in the server's place; false: it doesn't.
	fault    func(http.ResponseWriter, *http.Request) bool
	requests []string
	notValid string
	unlisted bool
	claims   bool
}

// Start makes a KCP of a number of shards. It ends with the test.
func Start(t testing.TB, shards int) *KCP {
	t.Helper()
	k := &KCP{claims: true}
	for i := range shards {
		k.shards = append(k.shards, &Shard{kcp: k, root: "/shard-" + string(rune('a'+i)) + "/services/apiexport/" + Provider + "/" + Export, workspaces: map[string]*workspace{}})
	}
	k.server = httptest.NewUnstartedServer(k)
	k.server.EnableHTTP2 = true
	k.server.StartTLS()
	t.Cleanup(k.server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: k.server.Certificate().Raw})
	k.Config = &rest.Config{Host: k.server.URL + "/clusters/root:provider", BearerToken: Token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
	return k
}

// Kubeconfig writes a kubeconfig file of Config.
func (k *KCP) Kubeconfig(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kcp.kubeconfig")
	c := clientcmdapi.NewConfig()
	c.Clusters["kcp"] = &clientcmdapi.Cluster{Server: k.Config.Host, CertificateAuthorityData: k.Config.CAData}
	c.AuthInfos["kcp"] = &clientcmdapi.AuthInfo{Token: Token}
	c.Contexts["kcp"] = &clientcmdapi.Context{Cluster: "kcp", AuthInfo: "kcp"}
	c.CurrentContext = "kcp"
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Shard of an index.
func (k *KCP) Shard(i int) *Shard { return k.shards[i] }

// Fail lets f answer requests in the server's place, where it returns true; nil: it
// answers again.
func (k *KCP) Fail(f func(http.ResponseWriter, *http.Request) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fault = f
}

// Invalidate makes the endpoint slice say that its export is not valid, and drop its
// endpoints, as kcp does while it is away; "": it is valid.
func (k *KCP) Invalidate(reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notValid = reason
}

// Unlist takes all endpoints from the slice though it says that the export is valid.
func (k *KCP) Unlist(yes bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unlisted = yes
}

// ClaimSecrets says whether the export claims Secrets.
func (k *KCP) ClaimSecrets(yes bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.claims = yes
}

// Requests are the paths that were asked for since the last call.
func (k *KCP) Requests() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.requests
	k.requests = nil
	return out
}

// ServeHTTP implements http.Handler.
func (k *KCP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	k.requests = append(k.requests, r.URL.Path)
	fault := k.fault
	k.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+Token {
		Refuse(w, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	if r.URL.Path == "/clusters/root:provider/apis/apis.kcp.io/v1alpha1/apiexportendpointslices/"+Export {
		answer(w, k.slice())
		return
	}
	for _, s := range k.shards {
		if rest, ok := strings.CutPrefix(r.URL.Path, s.root+"/clusters/"); ok {
			ws, path, _ := strings.Cut(rest, "/")
			s.serve(w, r, ws, path)
			return
		}
	}
	if strings.Contains(r.URL.Path, "/apiexportendpointslices/") {
		Refuse(w, apierrors.NewNotFound(schema.GroupResource{Group: "apis.kcp.io", Resource: "apiexportendpointslices"}, r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]))
		return
	}
	http.NotFound(w, r)
}

// slice is the APIExportEndpointSlice. A shard on which nobody binds has no endpoint.
func (k *KCP) slice() *apisv1alpha1.APIExportEndpointSlice {
	s := &apisv1alpha1.APIExportEndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: Export}}
	s.Spec.APIExport.Name = Export
	valid := corev1.ConditionTrue
	if k.notValid != "" {
		valid = corev1.ConditionFalse
	}
	s.Status.Conditions = conditions.Conditions{
		{Type: apisv1alpha2.APIExportValid, Status: valid, Reason: k.notValid},
		{Type: apisv1alpha1.PartitionValid, Status: corev1.ConditionTrue},
	}
	if k.notValid != "" || k.unlisted {
		return s
	}
	for _, shard := range k.shards {
		if len(shard.workspaces) > 0 {
			s.Status.APIExportEndpoints = append(s.Status.APIExportEndpoints, apisv1alpha1.APIExportEndpoint{URL: k.server.URL + shard.root})
		}
	}
	return s
}

// Refuse answers with an error of the API machinery.
func Refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	write(w, int(status.Code), &status)
}

func answer(w http.ResponseWriter, o runtime.Object) { write(w, http.StatusOK, o) }

func write(w http.ResponseWriter, code int, o runtime.Object) {
	body, err := json.Marshal(o)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that has gone
}

// sorted keys of a map.
func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
