package dev_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/internal/atproto"
	"socialweb.computer/infra-apiserver/internal/atproto/events"
	"socialweb.computer/infra-apiserver/internal/testdev"
	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// commits of an account, as its PDS announces them.
type commits struct {
	mu      sync.Mutex
	revs    []string // announced since counted
	counted string   // the last that was counted, or was there at the start
}

func watchCommits(t *testing.T, d *testdev.Dev) *commits {
	t.Helper()
	f, err := events.NewFirehose(events.FirehoseOptions{Stream: events.Stream{URL: d.PDS.URL, Dialer: atproto.NewDialer(true)}})
	if err != nil {
		t.Fatal(err)
	}
	c, began := &commits{}, make(chan struct{})
	begin := sync.OnceFunc(func() { close(began) })
	f.Subscribe(d.PDS.DID, func(e events.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch e.Kind {
		case events.Gap: // connected
			begin()
		case events.Commit:
			c.revs = append(c.revs, e.Rev)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-began
	head, err := d.Repo.LatestCommit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.counted = head.Rev
	return c
}

// since the last call, up to what the repository is now. A commit can be read before it
// is announced: that nothing was announced doesn't say that nothing came.
func (c *commits) since(t *testing.T, d *testdev.Dev) (n int) {
	t.Helper()
	eventually(t, "announcement", func(ctx context.Context) (bool, error) {
		head, err := d.Repo.LatestCommit(ctx)
		if err != nil {
			return false, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if head.Rev == c.counted {
			return true, nil
		}
		i := slices.Index(c.revs, head.Rev)
		if i < 0 {
			return false, nil
		}
		n, c.revs, c.counted = i+1, c.revs[i+1:], head.Rev
		return true, nil
	})
	return n
}

// inRecord is the status that the record of web shows: the deployment's phase and its
// contract's.
func inRecord(ctx context.Context, d *testdev.Dev) (string, error) {
	r, err := d.Repo.GetRecord(ctx, atproto.Key{Collection: "computer.socialweb.infra", RKey: "web"})
	if err != nil {
		return "", err
	}
	status, _ := r.Value["status"].(map[string]any)
	contracts, _ := status["contracts"].([]any)
	if len(contracts) != 1 {
		return "", nil
	}
	front, _ := contracts[0].(map[string]any)
	return fmt.Sprintf("%v %v", status["phase"], front["phase"]), nil
}

// What a lifecycle costs the repository: one commit for each write of the declaration,
// and one for each change of the status that lasts half a second. docs/architecture.md
// tells these figures.
func TestCommitsOfALifecycle(t *testing.T) {
	d := testdev.Start(t, testdev.Options{Controller: true})
	l, c := lifecycle{t, d.Client.SocialwebV1alpha1()}, watchCommits(t, d)
	const name = "infra-web-front"
	for _, step := range []struct {
		name    string
		act     func()
		until   string
		commits int
	}{
		{"created", func() {
			web := &v1alpha1.Infra{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			web.Spec.Contracts = []v1alpha1.Contract{{Name: "front"}}
			if _, err := l.api.Infras().Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}, "staged staged", 2},
		{"requested", func() {
			l.patch("web", `{"spec":{"contracts":[{"name":"front","state":"Requested"}]}}`)
		}, "deploying requesting", 2},
		{"held", func() {
			eventually(t, "the ComputeContract", func(context.Context) (bool, error) { return len(l.contracts()) == 1, nil })
			l.fulfil(name, `{"phase":"Requesting"}`)
			l.fulfil(name, held)
		}, "deployed deployed", 1},
		{"released", func() {
			l.patch("web", `{"spec":{"contracts":[{"name":"front","state":"Released"}]}}`)
			eventually(t, "release", func(context.Context) (bool, error) { return l.contracts()[0].Spec.Release, nil })
			l.fulfil(name, `{"phase":"Releasing"}`)
		}, "releasing releasing", 2},
		{"given back", func() { l.fulfil(name, `{"phase":"Released"}`) }, "released released", 1},
		{"labelled, which no record shows", func() { l.patch("web", `{"metadata":{"labels":{"a":"b"}}}`) }, "released released", 0},
	} {
		step.act()
		eventually(t, step.name, func(ctx context.Context) (bool, error) {
			is, err := inRecord(ctx, d)
			return is == step.until, err
		})
		if n := c.since(t, d); n != step.commits {
			t.Errorf("%s: %d commits, want %d", step.name, n, step.commits)
		}
	}
	if err := l.api.Infras().Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end", func(ctx context.Context) (bool, error) {
		_, err := l.api.Infras().Get(ctx, "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	// That it is being deleted is published only if it takes half a second.
	if n := c.since(t, d); n < 1 || n > 2 {
		t.Errorf("deleted: %d commits, want 1, or 2 on a slow machine", n)
	}
}
