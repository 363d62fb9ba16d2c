package preflight

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// A control plane that answers only once reviewsAtOnce reviews wait isn't waited for
// for ever, and never has more to answer.
func TestReviewsAreAtOnce(t *testing.T) {
	var mu sync.Mutex // guards waiting and most
	var waiting, most int
	full := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		waiting++
		if most = max(most, waiting); most == reviewsAtOnce {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		select {
		case <-full:
		case <-r.Context().Done():
		}
		mu.Lock()
		waiting--
		mu.Unlock()
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		_, _ = io.WriteString(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	config := everything
	config.Client, config.AuthenticationLookup = &rest.Config{Host: server.URL}, false
	r, err := Run(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(r.Findings) > 0 || most != reviewsAtOnce {
		t.Errorf("%d at once, %v", most, r.Findings)
	}
}

// A review that fails is an error of the look, whatever the others say.
func TestReviewThatFails(t *testing.T) {
	c, broken := newCluster(t), errors.New("connection reset")
	reviews := 0
	c.client.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		reviews++ // the fake answers one at a time
		return reviews == 5, nil, broken
	})
	if r, err := (look{Config: everything, client: c.client, self: c.client, objects: c.objects}).run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("%v, %v", r, err)
	}
}
