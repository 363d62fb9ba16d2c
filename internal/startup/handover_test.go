package startup

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/utils/clock"
)

// A connection that is made while the port is handed over is answered here once, and
// the next request comes by another: over HTTP/1 and HTTP/2, on every path.
func TestAnswersEndTheirConnections(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(NewGate(clock.RealClock{}).Handler(codecs()))
		server.EnableHTTP2 = http2
		server.StartTLS()
		t.Cleanup(server.Close)
		remotes := map[string]bool{}
		next := server.Config.Handler
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			remotes[r.RemoteAddr] = true
			next.ServeHTTP(w, r)
		})
		paths := []string{"/livez", "/readyz", "/apis/socialweb.computer/v1alpha1"}
		for _, path := range paths {
			resp, err := server.Client().Get(server.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if (resp.ProtoMajor == 2) != http2 {
				t.Fatalf("%s by %s", path, resp.Proto)
			}
		}
		if len(remotes) != len(paths) {
			t.Errorf("HTTP/2 %t: %d requests by %d connections", http2, len(paths), len(remotes))
		}
	}
}
