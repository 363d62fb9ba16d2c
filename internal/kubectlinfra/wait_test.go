package kubectlinfra

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

const long = "--timeout=5m"

// later runs the plugin beside the test, and tells its result.
func (p plugin) later(t *testing.T, args ...string) <-chan result {
	done := make(chan result, 1)
	go func() { done <- p.do(t.Context(), args...) }()
	return done
}

// front passes requests on to the server, and tells when one was answered.
func (p plugin) front(t *testing.T) (address string, answered <-chan struct{}) {
	t.Helper()
	server, err := url.Parse(p.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) }}
	done := make(chan struct{})
	tell := sync.OnceFunc(func() { close(done) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r)
		tell()
	}))
	t.Cleanup(s.Close)
	return s.URL, done
}

// met is what a wait must tell.
func met(t *testing.T, r result, name string) {
	t.Helper()
	if want := name + " condition met\n"; r.code != 0 || r.out != want {
		t.Errorf("exit %d\n%s%swant %s", r.code, r.out, r.err, want)
	}
}

func testWaitPhase(t *testing.T, p plugin) {
	const name = "infra.socialweb.computer/waited"
	p.create(t, "waited", contracts("a")...)
	p.fails(t, 1, "error: condition not met for infras/waited", "wait", "waited", "--for=phase=Deployed", "--timeout=0")
	p.fails(t, 1, "error: timed out waiting for the condition on infras/waited", "wait", "waited", "--for=phase=Deployed", "--timeout=1ms")
	p.fails(t, 1, `Error from server (NotFound): infras.socialweb.computer "none" not found`, "wait", "none", "--for=phase=Deployed")

	phase := p.later(t, "wait", "waited", "--for=phase=deployed", "--for=contract/a=Deployed", long)
	contract := p.later(t, "wait", "waited", "--for=contract/a=Deployed", long)
	p.observe(t, "waited", func(s *v1alpha1.InfraStatus) {
		s.Phase, s.ObservedGeneration = v1alpha1.PhaseDeployed, 1
		s.Contracts = []v1alpha1.ContractStatus{{Name: "a", Phase: v1alpha1.ContractPhaseDeployed}}
	})
	met(t, <-phase, name)
	met(t, <-contract, name)
	met(t, p.do(t.Context(), "wait", "waited", "--for=phase=Deployed", "--timeout=0"), name)

	// What was observed of the declaration of before says nothing of this one.
	p.run(t, "release", "waited", "a")
	p.fails(t, 1, "error: condition not met for infras/waited", "wait", "waited", "--for=phase=Deployed", "--timeout=0")
}

// testWaitDelete: until the object is gone, not until its deletion is asked for; one
// of the same name that comes after it is another.
func testWaitDelete(t *testing.T, p plugin) {
	const name = "infra.socialweb.computer/ending"
	api := p.Client.SocialwebV1alpha1().Infras()
	p.create(t, "ending", contracts("a")...)
	p.change(t, "ending", func(o *v1alpha1.Infra) { o.Finalizers = append(o.Finalizers, "example.com/hold") })
	if err := api.Delete(t.Context(), "ending", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.fails(t, 1, "error: condition not met for infras/ending", "wait", "ending", "--for=delete", "--timeout=0")
	front, answered := p.front(t)
	gone := p.later(t, "wait", "ending", "--for=delete", long, "--server="+front)
	<-answered // it knows which object it waits for
	w, err := api.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=ending"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	p.change(t, "ending", func(o *v1alpha1.Infra) { o.Finalizers = nil })
	for e := range w.ResultChan() {
		if e.Type == watch.Deleted {
			break
		}
	}
	p.create(t, "ending")
	met(t, <-gone, name)
	if err := api.Delete(t.Context(), "ending", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	met(t, p.do(t.Context(), "wait", "ending", "--for=delete", long), name)
}
