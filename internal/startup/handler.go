package startup

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
)

// Handler answers while the gate is shut: /livez says ok, /readyz and /healthz name
// what is missing, and everything else is 503 with the same words.
func (g *Gate) Handler(codecs runtime.NegotiatedSerializer) http.Handler {
	mux := http.NewServeMux()
	live := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }
	mux.HandleFunc("/livez", live)
	mux.HandleFunc("/livez/", live)
	for _, path := range []string{"/readyz", "/healthz"} {
		mux.HandleFunc(path, g.unready)
		mux.HandleFunc(path+"/", g.unready)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		var waits []string
		for _, m := range g.reasons() {
			waits = append(waits, m.name+": "+public(m.err))
		}
		err := apierrors.NewServiceUnavailable("the server is starting and waits for " + strings.Join(waits, "; "))
		err.ErrStatus.Details = nil
		w.Header().Set("Retry-After", "1")
		responsewriters.ErrorNegotiated(err, codecs, schema.GroupVersion{Version: "v1"}, w, r)
	})
	// Each answer ends its connection, in HTTP/2 too: one that came while the port was
	// handed over would otherwise be answered by this handler for ever.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		mux.ServeHTTP(w, r)
	})
}

// unready answers in the form of every API server.
func (g *Gate) unready(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	for _, m := range g.reasons() {
		fmt.Fprintf(&b, "[-]%s failed: %s\n", m.name, public(m.err))
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	fmt.Fprintf(&b, "%s check failed\n", name)
	// The stock checks answer 500 too.
	http.Error(w, b.String(), http.StatusInternalServerError)
}
